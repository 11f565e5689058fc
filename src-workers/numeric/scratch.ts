/** Makes a function that returns zeros in memory that it reuses: many large arrays would fragment the memory. */
export function createScratch(): (length: number) => Float64Array {
  let memory = new Float64Array(0);
  return (length) => {
    if (memory.length < length) memory = new Float64Array(2 ** Math.ceil(Math.log2(length)));
    return memory.subarray(0, length).fill(0);
  };
}
