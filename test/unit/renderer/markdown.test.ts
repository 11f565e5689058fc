import { expect, it } from 'vitest';
import { markdownBlocks } from '../../../src-renderer/views/export/markdown.ts';

it('the preview of a report renders the Markdown of reports, including escapes', () => {
  const [heading, paragraph, table, list] = markdownBlocks(
    '# A \\<b\\>\n\n**x** `y|z` \\*w\\*\n\n| a | b |\n| :--- | ---: |\n| 1 \\| 2 | 3 |\n\n- one\n- two\n',
  );
  expect(heading).toEqual({ kind: 'heading', level: 1, spans: [{ kind: 'text', text: 'A <b>' }] });
  expect(paragraph).toEqual({
    kind: 'paragraph',
    spans: [
      { kind: 'strong', text: 'x' },
      { kind: 'text', text: ' ' },
      { kind: 'code', text: 'y|z' },
      { kind: 'text', text: ' *w*' },
    ],
  });
  const expected = { kind: 'table', numeric: [false, true], rows: [[[{ text: '1 | 2' }], [{ text: '3' }]]] };
  expect(table).toMatchObject(expected);
  expect(list).toMatchObject({ kind: 'list', ordered: false, items: [[{ text: 'one' }], [{ text: 'two' }]] });
});

it('the preview of a report shows HTML, links and pictures as plain text', () => {
  const blocks = markdownBlocks(
    '<script>alert(1)</script>\n\nsee [x](javascript:alert(1)) <img src=x onerror=alert(1)> &lt;b&gt;\n\n- ![p](http://h/p.png)\n- **<i>y</i>**\n',
  );
  expect(blocks).toEqual([
    { kind: 'paragraph', spans: [{ kind: 'text', text: '<script>alert(1)</script>' }] },
    {
      kind: 'paragraph',
      spans: [{ kind: 'text', text: 'see [x](javascript:alert(1)) <img src=x onerror=alert(1)> &lt;b&gt;' }],
    },
    {
      kind: 'list',
      ordered: false,
      items: [[{ kind: 'text', text: '![p](http://h/p.png)' }], [{ kind: 'strong', text: '<i>y</i>' }]],
    },
  ]);
});
