import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { definitionsPath } from "../apiserver/custom-resources/crontab.fixture.ts";
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
import { comparable } from "./comparable.ts";
import type { Request } from "./request.ts";
import { ruleDefinitions, ruledDefinition, ruledPath, ruleObjects } from "./rule-requests.ts";

const title = "CEL rules are checked and enforced as by upstream";
const isThere = upstreamProgram !== undefined && hasTool("etcd");

describe.runIf(isThere)(isThere ? title : `${title} [needs kube-apiserver on the PATH]`, () => {
  const folder = temporaryFolder();
  let upstream: UpstreamServer;
  let theirs: ApiClient;
  let ours: TestServer;

  beforeAll(async () => {
    ours = await startTestServer();
    upstream = await startUpstreamServer(folder);
    const kubeconfig = await upstream.accessOf("admin", "system:masters");
    const { clusters } = parse(await readFile(kubeconfig, "utf8"));
    theirs = await connectClient(clusters[0].cluster.server, kubeconfig);
    for (const server of [theirs, ours]) {
      const created = await server.call("POST", definitionsPath, { body: ruledDefinition });
      expect(created.status, created.text).toBe(201);
      await vi.waitFor(async () => expect((await server.call("GET", ruledPath)).status).toBe(200));
    }
  });
  afterAll(async () => {
    theirs?.disconnect();
    await ours?.close();
    await upstream?.stop();
  });

  const ask = async (server: Pick<ApiClient, "call">, { method, path, body, headers }: Request) =>
    comparable(await server.call(method, path, { body, headers }));

  describe.each(Object.entries({ ...ruleDefinitions, ...ruleObjects }))("%s", (_, requests) => {
    test.each(requests)("$name", async (request) => {
      expect(await ask(ours, request)).toEqual(await ask(theirs, request));
    });
  });
});
