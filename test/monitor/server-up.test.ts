import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-dashboard-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const addressIn = ({ output }: UpProcess) =>
  /^Dashboard {2}(http:\/\/127\.0\.0\.1:\d+)$/m.exec(output.stdout)?.[1];
const simulated = ["--runtime", "simulated"];

async function readFirstMessage(url: string): Promise<string> {
  const response = await fetch(`${url}/api/feed`);
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const message = /^data: (.*)\n\n/m.exec(text)?.[1];
    if (message) return message;
  }
  throw new Error(`the feed ended: ${text}`);
}

describeWithTool("kubectl", "with a pod", () => {
  test("up prints the page's URL; the page's data survives a restart", async () => {
    const args = [...simulated, "--data-dir", join(folder, "a"), "--dashboard", "127.0.0.1:0"];
    const up = await startUp(args);
    const url = addressIn(up) ?? "";
    expect(JSON.parse(await readFirstMessage(url))).toMatchObject({
      kind: "snapshot",
      cluster: { server: expect.stringMatching(/^https:/) },
    });
    await up.kubectl.ok("run web --image=web:1");
    await up.kubectl.ok("wait --for=condition=Ready pod/web --timeout=60s");
    const metrics = () => fetch(`${url}/metrics`).then((answer) => answer.text());
    await expect.poll(metrics).toMatch(/^kindling_\w+.*namespace="default"/m);
    expect(await up.kill("SIGTERM")).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    const again = await startUp(args);
    expect(JSON.parse(await readFirstMessage(addressIn(again) ?? ""))).toMatchObject({ kind: "snapshot" });
    expect(await again.kill("SIGTERM")).toBe(0);
  });
});

test("two clusters on one machine each have a page; off is off", async () => {
  const ups = await Promise.all(
    ["b", "c"].map((name) => startUp([...simulated, "--data-dir", join(folder, name)])),
  );
  const [first, second] = ups.map(addressIn);
  expect(first).toBeDefined();
  expect(second).toBeDefined();
  expect(first).not.toBe(second);
  for (const up of ups) await up.kill("SIGTERM");
  const without = await startUp([...simulated, "--data-dir", join(folder, "d"), "--dashboard", "off"]);
  expect(without.output.stdout).not.toContain("Dashboard");
  expect(await without.kill("SIGTERM")).toBe(0);
});

test("a requested port that is in use is an error that explains what to do", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? address?.port : 0;
  const { output, exit } = await runKindling([
    "up",
    ...simulated,
    ...["--listen", "127.0.0.1:0", "--data-dir", join(folder, "e"), "--dashboard", `127.0.0.1:${port}`],
  ]);
  expect(await exit).toBe(1);
  expect(output.stderr).toMatch(
    /the dashboard cannot be served at this address: .*EADDRINUSE.*--dashboard HOST:PORT, or off/,
  );
  taken.close();
});
