# Scrapy's standard spider and link extractor on all hosts, with its queue in memory.
# python3 scrapy-spider.py THREADS SEED
import sys

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

threads, seed = sys.argv[1:3]


class Everything(CrawlSpider):
    name = "everything"
    start_urls = [seed]
    rules = [Rule(LinkExtractor(), follow=True)]


process = CrawlerProcess(
    {
        "LOG_LEVEL": "ERROR",
        "CONCURRENT_REQUESTS": int(threads),
        "CONCURRENT_REQUESTS_PER_DOMAIN": int(threads),
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Everything)
process.start()
