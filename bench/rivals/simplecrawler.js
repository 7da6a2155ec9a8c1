// simplecrawler as it comes, but on all hosts, without its pause of 250 ms between two requests, and
// for links of anchors alone: by default it also looks for URLs in scripts and comments.
//   node simplecrawler.js THREADS SEED

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
