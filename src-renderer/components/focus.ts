/** Whether the focus is on the page or on a view's frame, so that a view that opens may take it. */
export function isFocusFree(): boolean {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === 'view';
}
