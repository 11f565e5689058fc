const STYLE = /<style>([^<]*)<\/style>/;
const SCRIPTS = /<script\b[^>]*>[\s\S]*?<\/script>/g;

/**
 * Splits a report for the preview: its page without scripts, which the frame would refuse, and its style sheet, which
 * is adopted separately. The frame's own policy allows only fonts of this page.
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
