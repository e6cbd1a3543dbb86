import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { hasTool } from "../support/programs/tools.ts";
import {
  type ApiClient,
  connectClient,
  startTestServer,
  type TestServer,
} from "../support/servers/api-server.ts";
import {
  startUpstreamServer,
  type UpstreamServer,
  upstreamProgram,
} from "../support/servers/upstream-server.ts";
import { changes, malformed } from "./change-requests.ts";
import { comparable } from "./comparable.ts";
import { objects, pods } from "./object-requests.ts";
import { namespace, type Request } from "./request.ts";

const title = "our API server answers as upstream's does";
const isThere = upstreamProgram !== undefined && hasTool("etcd") && hasTool("kubectl");

describe.runIf(isThere)(isThere ? title : `${title} [needs kube-apiserver on the PATH]`, () => {
  const folder = temporaryFolder();
  let upstream: UpstreamServer;
  let theirs: ApiClient;
  let ours: TestServer;

  beforeAll(async () => {
    // Upstream allows external IPs unless its plugin DenyServiceExternalIPs is enabled.
    ours = await startTestServer({ externalIPs: "allowed" });
    upstream = await startUpstreamServer(folder);
    const kubeconfig = await upstream.accessOf("admin", "system:masters");
    const { clusters } = parse(await readFile(kubeconfig, "utf8"));
    theirs = await connectClient(clusters[0].cluster.server, kubeconfig);
    for (const server of [theirs, ours])
      await server.json("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    // Its controllers would.
    await theirs.json("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      metadata: { name: "default" },
    });
  });
  afterAll(async () => {
    theirs?.disconnect();
    await ours?.close();
    await upstream?.stop();
  });

  const ask = async (server: Pick<ApiClient, "call">, { method, path, body, headers }: Request) =>
    comparable(await server.call(method, path, { body, headers }));

  describe.each(Object.entries({ pods, objects, malformed, changes }))("%s", (_, requests) => {
    test.each(requests)("$name", async (request) => {
      expect(await ask(ours, request)).toEqual(await ask(theirs, request));
    });
  });
});
