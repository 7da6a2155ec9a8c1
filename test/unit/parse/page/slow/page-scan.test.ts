// The slow tests of the page scan; the others are in `test/unit/parse/page/page-scan.test.ts`.

import { test } from 'node:test';
import { scanPage } from '../../../../../agent/parse/page/page-scan.ts';
import { assertLinear } from '../../../../checkers/linear-cost.ts';

test('scan: hostile pages cost linear time', () => {
  const units = [
    ...['<', '<a', '<a href="', '<a href=x ', '<svg>', '<svg></math>', '<math><mi>', '<template>'],
    ...[
      '<select>',
      '<table><select>',
      '<!--',
      '<![CDATA[',
      '<svg><![CDATA[',
      '<script>',
      '&',
      '&#',
    ],
    ...['<script><!--<script></script>', '<script><!--', '<script><!--<script>--></script>'],
    ...[
      '<script><!--<script></script></script>',
      '<![CDATA[>',
      '<svg><![CDATA[]]></svg><![CDATA[x>',
    ],
    ...['</script', '<a b c', '<a href="&', '</b', '<b></i>', '<meta name=robots content=",', '\0'],
  ];
  for (const unit of units) {
    const scan = (size: number) => scanPage(`${unit.repeat(size / unit.length)}<![CDATA[`);
    assertLinear(unit, scan, 1_000_000);
  }
});
