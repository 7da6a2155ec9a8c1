// simplecrawler with its defaults, except that it visits all hosts, does not pause 250 ms between
// requests, and reads only links of anchors: by default it also looks for URLs in scripts and
// comments.
// node simplecrawler.js THREADS SEED

import Crawler from 'simplecrawler';

const [threads, seed] = process.argv.slice(2);
const crawler = new Crawler(seed);
crawler.maxConcurrency = Number(threads);
crawler.interval = 1;
crawler.filterByDomain = false;
crawler.parseScriptTags = false;
crawler.parseHTMLComments = false;
crawler.on('complete', () => process.exit(0));
crawler.start();
