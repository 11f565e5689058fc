const STYLE = /<style>([^<]*)<\/style>/;
const SCRIPTS = /<script\b[^>]*>[\s\S]*?<\/script>/g;

/**
 * A report as the preview shows it: its page without scripts, which the frame would refuse with a complaint, and
 * without its style sheet, which is adopted apart. The frame's own policy allows nothing at all; fonts of this page may
 * load.
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
