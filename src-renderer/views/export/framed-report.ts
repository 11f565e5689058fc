const STYLE = /<style>([^<]*)<\/style>/;
const SCRIPTS = /<script\b[^>]*>[\s\S]*?<\/script>/g;

/** Splits a report into a page and its style sheet. The page has no scripts and may use this program's fonts. */
export function framedReport(text: string): { readonly page: string; readonly css: string } {
  return {
    css: STYLE.exec(text)?.[1] ?? '',
    page: text
      .replace(STYLE, '')
      .replace(SCRIPTS, '')
      .replace("default-src 'none'", "default-src 'none'; font-src 'self' data:"),
  };
}
