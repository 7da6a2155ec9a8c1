// spider-rs (Rust) with its defaults, on all hosts: it crawls the given host and those named to it.
// It decides itself how many requests it makes at once.
// node spider-rs.js THREADS SEED HOST-URL...

import spider from '@spider-rs/spider-rs';

const [, seed, ...hosts] = process.argv.slice(2);
const website = new spider.Website(seed).withExternalDomains(hosts).build();
await website.crawl();
process.exit(0);
