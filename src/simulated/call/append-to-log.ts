import { appendFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { createCriLogLines } from "../../cri/log-lines.ts";

/** Lines of CRI's log on standard output, all of this moment. Empty text only makes the file. */
export async function appendToLog(path: string, text: string, now: number): Promise<void> {
  // To the nanosecond, as kubelets parse it.
  const time = new Date(now).toISOString().replace("Z", "000000Z");
  const lines = createCriLogLines("stdout");
  const bytes = [lines.push(Buffer.from(text), time), lines.end(time)];
  await mkdir(dirname(path), { recursive: true });
  await appendFile(path, Buffer.concat(bytes), { mode: 0o640 });
}
