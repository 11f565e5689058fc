const STYLE = /<style>([^<]*)<\/style>/;
const SCRIPTS = /<script\b[^>]*>[\s\S]*?<\/script>/g;

/**
 * Splits a report for the preview into a page and its style sheet, which the frame adopts separately. Scripts are
 * removed, because the frame would refuse them. The frame's own policy allows only fonts of this page.
 */
export function framedReport(text: string): { readonly page: string; readonly css: string } {
  return {
    css: STYLE.exec(text)?.[1] ?? '',
    page: text
      .replace(STYLE, '')
      .replace(SCRIPTS, '')
      .replace("default-src 'none'", "default-src 'none'; font-src 'self' data:"),
  };
}
