import { expect, test } from "vitest";
import { runKindling } from "../support/run-kindling.ts";
import { useWhyNode } from "../support/why-node.ts";

const parts = useWhyNode();

async function why(...args: readonly string[]) {
  const run = await runKindling(["why", "--kubeconfig", parts.node.server.kubeconfig, ...args]);
  return { code: await run.exit, ...run.output };
}

test("a pod with a missing config map: the stage, the reason, that it does not heal, and the command that helps", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "cm", key: "k" } } }];
  await parts.node.run("stuck", { containers: [{ name: "c", image: "web:1", env }] });
  await parts.node.untilEvent("stuck", /configmap "cm" not found/);
  const { code, stdout } = await why("stuck");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^default\/stuck {2}creating/);
  expect(stdout).toContain('CreateContainerConfigError: configmap "cm" not found');
  expect(stdout).toContain("It does not heal by itself.");
  expect(stdout).toContain("kubectl create configmap cm");
  expect(stdout).toMatch(/volumes and sandbox +█/);
  // In a pipe there are no colours.
  expect(stdout).not.toContain("\x1b");
});

test("a pull under way: bytes and time left, from the kubelet", async () => {
  parts.simulated.rules.add({
    match: { image: "*big*" },
    pull: { sizeBytes: 500 * 2 ** 20, bytesPerSecond: 20 * 2 ** 20 },
  });
  await parts.node.run("pulling", { containers: [{ name: "c", image: "big:1" }] });
  await parts.node.untilEvent("pulling", /Pulling image "big:1"/);
  let said: { stage: string; because: string } | undefined;
  await expect
    .poll(async () => {
      said = JSON.parse((await why("pulling", "-o", "json")).stdout);
      return said?.because;
    })
    .toMatch(/big:1 is being pulled: \d+(\.\d)? of 500 MiB, about \d+ s left/);
  expect(said).toMatchObject({ stage: "pulling", healsByItself: true });
});

test("words of a pod never move the cursor", async () => {
  await parts.node.run("hostile", { containers: [{ name: "c", image: "Bad\u001b[2Jname" }] });
  await parts.node.untilEvent("hostile", /InvalidImageName/);
  const { stdout } = await why("hostile");
  expect(stdout).toContain("InvalidImageName");
  expect(stdout).not.toContain("\x1b");
});

test("a pod that is not there", async () => {
  const { code, stderr } = await why("nobody");
  expect(code).toBe(1);
  expect(stderr).toContain('pods "nobody" not found');
});
