/** The properties to write into the elements of a saved plot, because a file has no style sheet. */
const PROPERTIES = [
  'fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap', 'opacity', 'font-family',
  'font-size', 'font-weight', 'font-variant-numeric', 'text-anchor', 'dominant-baseline', 'image-rendering', 'display', 'paint-order',
] as const; // prettier-ignore

export function standaloneSvg(element: SVGSVGElement, background: string): string {
  const { width, height } = element.getBoundingClientRect();
  const copy = element.cloneNode(true) as SVGSVGElement;
  const originals = [element, ...element.querySelectorAll('*')];
  for (const [i, target] of [copy, ...copy.querySelectorAll('*')].entries()) {
    const style = getComputedStyle(originals[i]);
    const written = PROPERTIES.map((property) => `${property}:${style.getPropertyValue(property)}`).join(';');
    target.removeAttribute('class');
    target.setAttribute('style', `${target === copy ? `background:${background};` : ''}${written}`);
  }
  for (const hidden of copy.querySelectorAll('[data-screen-only]')) hidden.remove();
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(Math.round(width)));
  copy.setAttribute('height', String(Math.round(height)));
  return new XMLSerializer().serializeToString(copy);
}

export async function svgToPng(svg: string): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  const context = canvas.getContext('2d')!;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return pngOf(canvas);
}

/** Returns the picture of a canvas, or null if it is too large for this browser. */
export const pngOf = (canvas: HTMLCanvasElement) => new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
