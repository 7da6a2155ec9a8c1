# The independent crawler of documentation.test.ts: Scrapy's standard spider and link extractor on
# the hosts of the seeds. Writes one JSON line for each response, errors included.
# python3 documentation-spider.py OUT SEED...
import json
import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

out = open(sys.argv[1], "w")
seeds = sys.argv[2:]


class Documentation(CrawlSpider):
    name = "documentation"
    start_urls = seeds
    allowed_domains = sorted({urlsplit(seed).hostname for seed in seeds})
    rules = [Rule(LinkExtractor(), callback="note", follow=True)]

    def parse_start_url(self, response):
        return self.note(response)

    def note(self, response):
        kind = response.headers.get("Content-Type", b"").decode()
        line = {"url": response.url, "status": response.status, "type": kind}
        out.write(json.dumps(line) + "\n")


process = CrawlerProcess(
    {
        "LOG_LEVEL": "ERROR",
        "HTTPERROR_ALLOW_ALL": True,
        "REDIRECT_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Documentation)
process.start()
out.close()
