/**
 * Minimal server for the API's hot requests: TLS, parsing, a uid, a revision and one durable LMDB put, without Kubernetes. The API
 * server is compared with it. bench/api.ts starts it as a separate process: api-floor-server DATA-DIR PKI-DIR [BYTES]. BYTES are
 * added to each object, because stored Kubernetes objects are longer than those sent.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { open } from "lmdb";

const [dataDir = "", pkiDir = "", addedBytes = "0"] = process.argv.slice(2);
const added = Number(addedBytes) > 0 ? { added: "x".repeat(Number(addedBytes)) } : {};
// With overlapping syncs, responses would be sent before the data is on disk.
const database = open({
  path: join(dataDir, `floor-${addedBytes}`),
  encoding: "binary",
  overlappingSync: false,
});
const objects = new Map<string, Buffer>();
let revision = 1;

async function write(path: string, text: string, isCreate: boolean): Promise<Buffer> {
  const sent = JSON.parse(text);
  const key = isCreate ? `${path}/${sent.metadata.name}` : path.replace(/\/status$/, "");
  const object = isCreate ? sent : { ...JSON.parse((objects.get(key) ?? "{}").toString()), ...sent };
  object.metadata = { ...object.metadata, uid: randomUUID(), resourceVersion: String(++revision), ...added };
  const body = Buffer.from(JSON.stringify(object));
  await database.put(key, body);
  objects.set(key, body);
  return body;
}

const server = createServer(
  { cert: readFileSync(join(pkiDir, "apiserver.crt")), key: readFileSync(join(pkiDir, "apiserver.key")) },
  (request, response) => {
    const path = request.url ?? "/";
    const answer = (status: number, body: Buffer) => {
      response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
      response.end(body);
    };
    if (request.method === "GET") {
      const body = objects.get(path);
      answer(body ? 200 : 404, body ?? Buffer.alloc(0));
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      const isCreate = request.method === "POST";
      answer(isCreate ? 201 : 200, await write(path, Buffer.concat(chunks).toString(), isCreate));
    });
  },
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`https://127.0.0.1:${address?.port}`);
});
