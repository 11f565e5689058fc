/** Hands a file to the person through the page. In the desktop window, documents go through the native dialog instead. */
export function saveFile(fileName: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Saves text: by the native dialog where there is one, else as a download. Resolves with where it went, or null if cancelled. */
export async function saveText(fileName: string, mediaType: string, text: string): Promise<string | null> {
  if (window.lockstep) return window.lockstep.saveDocument({ fileName, mediaType, text });
  saveFile(fileName, new Blob([text], { type: mediaType }));
  return fileName;
}
