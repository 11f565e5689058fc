/** Whether the focus is nowhere in particular, so that a view that opens may take it: on the page, or on the view's frame. */
export function isFocusFree(): boolean {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === 'view';
}
