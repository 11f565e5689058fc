import { expect, it } from 'vitest';
import { highlight } from '../../../src-renderer/views/export/highlight.ts';
import { markdownBlocks } from '../../../src-renderer/views/export/markdown.ts';

const text = (text: string) => ({ kind: 'text', text });

it('the preview of a report renders the Markdown of reports, including escapes', () => {
  const report = '# A \\<b\\>\n\n**x** `y|z` \\*w\\*\n\n| a | b |\n| :--- | ---: |\n| 1 \\| 2 | 3 |\n\n- one\n- two\n';
  expect(markdownBlocks(report)).toEqual([
    { kind: 'heading', level: 1, spans: [text('A <b>')] },
    {
      kind: 'paragraph',
      spans: [{ kind: 'strong', text: 'x' }, text(' '), { kind: 'code', text: 'y|z' }, text(' *w*')],
    },
    { kind: 'table', numeric: [false, true], head: [[text('a')], [text('b')]], rows: [[[text('1 | 2')], [text('3')]]] },
    { kind: 'list', ordered: false, items: [[text('one')], [text('two')]] },
  ]);
});

it('the preview of a report shows HTML, links and pictures as plain text', () => {
  const inner = 'see [x](javascript:alert(1)) <img src=x onerror=alert(1)> &lt;b&gt;';
  const blocks = markdownBlocks(`<script>alert(1)</script>\n\n${inner}\n\n- ![p](http://h/p.png)\n- **<i>y</i>**\n`);
  expect(blocks).toEqual([
    { kind: 'paragraph', spans: [text('<script>alert(1)</script>')] },
    { kind: 'paragraph', spans: [text(inner)] },
    { kind: 'list', ordered: false, items: [[text('![p](http://h/p.png)')], [{ kind: 'strong', text: '<i>y</i>' }]] },
  ]);
});

it('the preview of a file has highlighted pieces that add up to the text', () => {
  const file = '#define A __launch_bounds__(64, 2)\nconstexpr unsigned x = 4u; // 3 "x"\n{"a": -1.5e-3, "b": null}\n';
  const tokens = highlight(file);
  expect(tokens.map((token) => token.text).join('')).toBe(file);
  const ofKind = (kind: string) => tokens.filter((token) => token.kind === kind).map((token) => token.text);
  expect([ofKind('comment'), ofKind('number')]).toEqual([['// 3 "x"'], ['64', '2', '4u', '-1.5e-3']]);
});
