import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { open } from "lmdb";

/**
 * The least that one Node process must do for the API's three hot requests: TLS, parse, a uid, a revision, one
 * durable LMDB put, and nothing of Kubernetes. Its speed is what the API server is measured against.
 */
const [dataDir = "", pkiDir = ""] = process.argv.slice(2);
const database = open({ path: join(dataDir, "floor"), encoding: "binary" });
const objects = new Map<string, Buffer>();
let revision = 1;

const server = createServer(
  { cert: readFileSync(join(pkiDir, "apiserver.crt")), key: readFileSync(join(pkiDir, "apiserver.key")) },
  (request, response) => {
    const path = request.url ?? "/";
    if (request.method === "GET") {
      const body = objects.get(path);
      response.writeHead(body ? 200 : 404, {
        "content-type": "application/json",
        "content-length": body?.length ?? 0,
      });
      response.end(body);
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => void write(path, Buffer.concat(chunks).toString(), request.method === "POST"));
    async function write(path: string, text: string, create: boolean): Promise<void> {
      const object = create
        ? JSON.parse(text)
        : { ...JSON.parse((objects.get(path) ?? "{}").toString()), ...JSON.parse(text) };
      object.metadata = { ...object.metadata, uid: randomUUID(), resourceVersion: String(++revision) };
      const key = create ? `${path}/${object.metadata.name}` : path;
      const body = Buffer.from(JSON.stringify(object));
      await database.put(key, body);
      objects.set(key, body);
      response.writeHead(create ? 201 : 200, {
        "content-type": "application/json",
        "content-length": body.length,
      });
      response.end(body);
    }
  },
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`listening ${address?.port}`);
});
