// Pulls in a process that the test kills: node crash-puller.mjs DATA_DIR UNPACK_PROGRAM REFERENCE
import { createImages } from "../../../src/runtime/images/create-images.ts";

const [dataDir = "", unpackProgram = "", reference = ""] = process.argv.slice(2);
const images = await createImages({ dataDir, unpackProgram });
const signal = new AbortController().signal;
console.log("ready");
for await (const report of images.pull({
  reference,
  granularity: { kind: "size", intervalBytes: 1 },
  signal,
})) {
  console.log(JSON.stringify({ kind: report.kind, offset: report.offset }));
}
const [image] = images.list();
if (image) await images.createRootfs({ containerId: "crashed", image });
console.log("mounted");
setInterval(() => {}, 1_000);
