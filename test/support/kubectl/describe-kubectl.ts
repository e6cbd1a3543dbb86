import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe } from "vitest";
import { parse, stringify } from "yaml";
import { startTestServer, type TestServer, type TestServerOptions } from "../servers/api-server.ts";
import { createKubectl, describeEachKubectl, type Kubectl, type KubectlTool } from "./kubectl.ts";

/** A live server and one kubectl, whose default namespace is its own. */
export interface KubectlCluster extends Kubectl {
  readonly server: TestServer;
  readonly namespace: string;
  /** `/api/v1/namespaces/…` or `/apis/GROUP/VERSION/namespaces/…` of the own namespace. */
  path(apiVersion: string, rest: string): string;
  /** kubectl apply of objects or YAML. */
  apply(manifest: string | object, ...flags: string[]): Promise<string>;
  /** The same kubectl with other credentials, in its own kubeconfig. */
  as(user: object): Promise<Kubectl>;
}

/** Name of the tool. Cluster-wide objects have it in their names, so that the tests of two tools do not collide. */
type Body = (cluster: KubectlCluster, tool: KubectlTool) => void;

/** The same tests with each kubectl that users have, on one server. */
export function describeKubectl(name: string, body: Body, options?: TestServerOptions): void {
  describe(name, () => {
    const started: { server?: TestServer } = {};
    beforeAll(async () => {
      started.server = await startTestServer(options);
    });
    afterAll(() => started.server?.close());

    describeEachKubectl((tool) => {
      declare(tool, body, () => openCluster(started.server, tool, `with-${tool}`));
    });
  });
}

function declare(tool: KubectlTool, body: Body, open: () => Promise<KubectlCluster>): void {
  // Tests are declared before the server runs, so these values are set later.
  const cluster = {} as KubectlCluster;
  beforeAll(async () => Object.assign(cluster, await open()));
  body(cluster, tool);
}

async function openCluster(
  server: TestServer | undefined,
  tool: KubectlTool,
  namespace: string,
): Promise<KubectlCluster> {
  if (!server) throw new Error("the server did not start");
  await server.json("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const config = parse(await readFile(server.kubeconfig, "utf8"));
  config.contexts[0].context.namespace = namespace;

  async function open(user: object, fileName: string): Promise<Kubectl> {
    const kubeconfig = `${server?.dataDir}/${fileName}`;
    await writeFile(kubeconfig, stringify({ ...config, users: [{ ...config.users[0], user }] }));
    return createKubectl(kubeconfig, tool);
  }

  let others = 0;
  const kubectl = await open(config.users[0].user, `kubeconfig-${tool}`);
  return {
    ...kubectl,
    server,
    namespace,
    path: (apiVersion, rest) =>
      `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}/namespaces/${namespace}/${rest}`,
    apply: (manifest, ...flags) =>
      kubectl.ok(["apply", "-f", "-", ...flags], {
        input: typeof manifest === "string" ? manifest : JSON.stringify(manifest),
      }),
    as: (user) => open(user, `kubeconfig-${tool}-${++others}`),
  };
}
