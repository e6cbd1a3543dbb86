import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeWithTool } from "../../support/programs/tools.ts";
import { startTestServer } from "../../support/servers/api-server.ts";
import { startEtcd } from "../../support/servers/etcd-server.ts";
import { cronTab, cronTabDefinition, cronTabsPath, definitionsPath, establish } from "./crontab.fixture.ts";

describeWithTool("etcd", "definitions of another server on the same etcd", () => {
  test("are served, and no longer served when they are deleted there", async () => {
    const etcd = await startEtcd();
    const store = { kind: "etcd", endpoints: [etcd.url] } as const;
    const [one, two] = await Promise.all([startTestServer({ store }), startTestServer({ store })]);
    onTestFinished(async () => {
      await Promise.all([one.close(), two.close()]);
      await etcd.remove();
    });
    await establish(one);
    await expect.poll(async () => (await two.call("GET", cronTabsPath)).status).toBe(200);
    await two.json("POST", cronTabsPath, cronTab("a"));
    expect(await one.json("GET", `${cronTabsPath}/a`)).toMatchObject({ spec: { image: "busybox" } });
    await two.json("DELETE", `${definitionsPath}/crontabs.stable.example.com`);
    for (const server of [one, two]) {
      await expect.poll(async () => (await server.call("GET", cronTabsPath)).status).toBe(404);
    }
  });
});

test("definitions and their objects are served again after a restart", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-crd-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const options = { dataDir, store: { kind: "lmdb" } } as const;
  const first = await startTestServer(options);
  await establish(first);
  await first.json("POST", cronTabsPath, cronTab("a"));
  const definition = cronTabDefinition({ names: { plural: "others", kind: "Other" } });
  await establish(first, definition);
  await first.close();
  const second = await startTestServer(options);
  onTestFinished(() => second.close());
  expect(await second.json("GET", `${cronTabsPath}/a`)).toMatchObject({ spec: { replicas: 1 } });
  const { text } = await second.call("GET", "/apis/stable.example.com/v1");
  expect(text).toContain("others");
});
