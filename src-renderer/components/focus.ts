/** Whether the focus is on the page or on a view's frame. A view that opens may then take it. */
export function isFocusFree(): boolean {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === 'view';
}
