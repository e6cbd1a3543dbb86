import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadOrCreatePki } from "../../src/apiserver/auth/pki/pki.ts";
import { post } from "./api-load.ts";
import type { ChildServer } from "./child-server.ts";
import { median } from "./median.ts";
import { printTable } from "./print-table.ts";

interface WebhooksBench {
  /** Starts an API server on the data directory of this name. */
  startServer(name: string): Promise<ChildServer>;
  /** Folder for the certificate of the webhook. */
  readonly folder: string;
}

const creates = 200;
/** Shortest duration: what it takes on a machine without other load. */
const fastest = (durations: readonly number[]) => Math.min(...durations);

/** Measures what a mutating webhook on loopback adds to a create. Creates with and without it alternate. */
export async function measureWebhooks({ startServer, folder }: WebhooksBench): Promise<void> {
  const directory = join(folder, "webhook-pki");
  const { authority, serving } = await loadOrCreatePki({ directory, hosts: ["127.0.0.1"], now: Date.now() });
  const patch = [{ op: "add", path: "/metadata/annotations", value: { seen: "yes" } }];
  const response = {
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  };
  const webhook = createServer({ cert: serving.cert, key: serving.key }, async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { kind, apiVersion, request: asked } = JSON.parse(Buffer.concat(chunks).toString());
    reply.end(JSON.stringify({ kind, apiVersion, response: { uid: asked.uid, ...response } }));
  });
  await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
  const { port } = webhook.address() as AddressInfo;
  const server = await startServer("webhooks");
  const hook = {
    name: "bench.example.com",
    clientConfig: {
      url: `https://127.0.0.1:${port}/`,
      caBundle: Buffer.from(authority.cert).toString("base64"),
    },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    objectSelector: { matchLabels: { hook: "yes" } },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const configuration = {
    kind: "MutatingWebhookConfiguration",
    apiVersion: "admissionregistration.k8s.io/v1",
    metadata: { name: "bench" },
    webhooks: [hook],
  };
  const registration = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  await post(server.url + registration, JSON.stringify(configuration));
  const durations: Record<"yes" | "no", number[]> = { yes: [], no: [] };
  for (let i = 0; i < creates; i++) {
    for (const label of i % 2 ? (["yes", "no"] as const) : (["no", "yes"] as const)) {
      const body = { metadata: { name: `${label}-${i}`, labels: { hook: label } }, data: { a: "1" } };
      const start = performance.now();
      await post(`${server.url}/api/v1/namespaces/default/configmaps`, JSON.stringify(body));
      durations[label].push(performance.now() - start);
    }
  }
  await server.stop();
  webhook.close();
  webhook.closeAllConnections();
  const row = (name: string, of: (pick: (values: number[]) => number) => number, target = "") => [
    name,
    `${of(median).toFixed(2)} ms`,
    `${of(fastest).toFixed(2)} ms`,
    target,
  ];
  printTable(
    ["create of a config map", "median", "fastest", "target"],
    [
      row("without a webhook", (pick) => pick(durations.no)),
      row("with a mutating webhook on loopback", (pick) => pick(durations.yes)),
      row("difference", (pick) => pick(durations.yes) - pick(durations.no), "3 ms"),
    ],
  );
}
