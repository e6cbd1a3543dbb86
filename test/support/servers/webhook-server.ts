import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { loadOrCreatePki } from "../../../src/apiserver/auth/pki/pki.ts";

/** Request of an AdmissionReview, as far as tests read it. */
interface ReviewedRequest {
  uid: string;
  operation: string;
  name?: string;
  namespace?: string;
  subResource?: string;
  kind: { group: string; version: string; kind: string };
  object: Record<string, unknown> | null;
  oldObject: Record<string, unknown> | null;
  [field: string]: unknown;
}

/** Response by path: the fields of `response` beside the uid, or an HTTP status with a body. */
export type WebhookResponses = Record<
  string,
  (
    request: ReviewedRequest,
  ) => Record<string, unknown> | { httpStatus: number; location?: string; body?: string } | "never"
>;

export interface WebhookServer {
  readonly requests: { path: string; request: ReviewedRequest }[];
  /** Connections that were opened. */
  connections(): number;
  /** `clientConfig` for a path of this server. */
  clientConfig(path: string): { url: string; caBundle: string };
  close(): Promise<void>;
}

/** An admission webhook on loopback with a certificate of its own CA. */
export async function startWebhookServer(
  folder: string,
  responses: WebhookResponses,
): Promise<WebhookServer> {
  const hosts = ["127.0.0.1", "hook.default.svc"];
  const pki = await loadOrCreatePki({ directory: `${folder}/webhook-pki`, hosts, now: Date.now() });
  const requests: WebhookServer["requests"] = [];
  let connections = 0;
  const server: Server = createServer(
    { cert: pki.serving.cert, key: pki.serving.key },
    async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const path = incoming.url?.split("?")[0] ?? "";
      const review = JSON.parse(Buffer.concat(chunks).toString());
      requests.push({ path, request: review.request });
      const answer = responses[path]?.(review.request) ?? { httpStatus: 404 };
      if (answer === "never") return;
      if ("httpStatus" in answer) {
        const {
          httpStatus,
          location,
          body = "",
        } = answer as { httpStatus: number; location?: string; body?: string };
        response
          .writeHead(httpStatus, { "content-type": "text/plain", ...(location && { location }) })
          .end(body);
        return;
      }
      const { apiVersion, kind } = review;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, ...answer } }));
    },
  );
  server.on("secureConnection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(pki.authority.cert).toString("base64");
  return {
    requests,
    connections: () => connections,
    clientConfig: (path) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Response fields with a JSON patch. */
export function patching(...patch: object[]): Record<string, unknown> {
  return {
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  };
}
