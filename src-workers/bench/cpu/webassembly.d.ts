/** TypeScript declares this interface only for browsers. Source: https://www.w3.org/TR/wasm-js-api-2/. */
declare namespace WebAssembly {
  class Module {
    private readonly kind: 'module';
    constructor(bytes: ArrayBufferView<ArrayBuffer>);
  }
  class Memory {
    constructor(descriptor: { readonly initial: number; readonly maximum: number; readonly shared: true });
    readonly buffer: SharedArrayBuffer;
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, Memory>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
}
