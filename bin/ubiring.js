#!/usr/bin/env node
// The command `ubiring` of the published package. Says in one line that Node 24 is needed, where an
// older one would stumble over some file with a syntax error; hence a file of its own, without a
// static import, in words that every Node understands. Everything else is dist/agent/main.js.

var major = Number(process.versions.node.split('.')[0]);

if (major < 24) {
  process.stderr.write(
    'ubiring needs Node 24 or newer; this is ' + process.version + ' (' + process.execPath +
      '): install it, or in a checkout write npm run -s ubiring -- instead of ubiring\n',
  );
  process.exitCode = 2;
} else {
  import('../dist/agent/main.js');
}
