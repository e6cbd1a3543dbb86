import { afterAll, beforeAll, expect, test } from "vitest";
import type { Container } from "../../src/api/meta/objects.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { parseMonitorConfiguration } from "../../src/monitor/configuration/monitor-configuration.ts";
import { createMonitorService } from "../../src/monitor/monitor-service.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { createMemoryStore } from "../../src/store/local/memory-store.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";

describeInBrowser("the page on a cluster", () => {
  // The API server asks it for pulls, at the address in the node's status.
  const cluster = useCluster({ kubelet: { config: { address: "0.0.0.0" } } });
  const dashboard = useDashboard();
  const stopping = new AbortController();
  const dataDir = temporaryFolder();
  let server: MonitorServer;
  let running: Promise<void>;

  beforeAll(async () => {
    const deps = { client: cluster.client, clock: systemClock, logger: silentLogger };
    const service = await createMonitorService({
      ...deps,
      store: createMemoryStore(),
      dataDir,
      configuration: parseMonitorConfiguration("", "the default"),
      server: cluster.server.url,
    });
    running = service.run(stopping.signal);
    server = await startMonitorServer({
      ...deps,
      listen: { host: "127.0.0.1", port: 0 },
      dashboardDir: dashboard.folder,
      parts: service.parts,
    });
  });
  afterAll(async () => {
    await server?.close();
    stopping.abort();
    await running;
  });

  const pod = (name: string, container: Partial<Container>) =>
    makePod(name, { terminationGracePeriodSeconds: 0, container });

  test("pods show a pull, a completed start and a missing reference", async () => {
    // Longer than any test waits: it is seen under way, however busy the machine is.
    cluster.simulated.rules.add({
      match: { image: "big:1" },
      pull: { sizeBytes: 800 * 2 ** 20, layers: 4, bytesPerSecond: 4 * 2 ** 20 },
    });
    const page = await dashboard.visit(`${server.url}/`);
    await page.getByText("No pods are starting.").waitFor();
    await page.getByText(cluster.server.url).waitFor();

    await cluster.client.create("pods", pod("big", { image: "big:1", imagePullPolicy: "Always" }));
    const pulling = page.getByRole("option", { name: "default/big" });
    await pulling.getByText(/ MiB\/s · .* left$/).waitFor();
    await pulling.click();
    const layers = page.getByRole("table", { name: /^Layers of .*big:1$/ });
    await expect.poll(() => layers.getByRole("row").count()).toBe(4);
    await cluster.client.delete("pods", { namespace: "default", name: "big" });
    await page.getByText("No pods are starting.").waitFor();

    await cluster.client.create("pods", pod("quick", {}));
    await page.getByRole("tab", { name: "Finished 1" }).click();
    await page.getByRole("row", { name: /^default 1 / }).waitFor();

    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "settings", key: "k" } } }];
    await cluster.client.create("pods", pod("stuck", { env }));
    await page.getByRole("tab", { name: "Starting" }).click();
    await page.getByRole("option", { name: "default/stuck" }).click();
    await page.getByRole("complementary").getByText('configmap "settings" not found').waitFor();
    await page.getByRole("button", { name: /^Copy: kubectl create configmap settings/ }).waitFor();
    await page.getByRole("tab", { name: "Nodes" }).click();
    await page.getByRole("row", { name: /^node-1 ready/ }).waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await expect.poll(() => page.getByText("Pod default/stuck").count()).toBeGreaterThan(0);
  });
});
