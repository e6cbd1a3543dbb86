import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { median } from "./median.ts";

/** How long the disk takes to keep 4 KiB: what every durable write waits for at least. */
export function measureSyncMs(file: string): number {
  const handle = openSync(file, "w");
  const page = Buffer.alloc(4_096);
  const samples: number[] = [];
  for (let i = 0; i < 100; i++) {
    const start = performance.now();
    writeSync(handle, page, 0, page.length, 0);
    fdatasyncSync(handle);
    samples.push(performance.now() - start);
  }
  closeSync(handle);
  return median(samples);
}
