import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describeNetworking, run } from "../support/network/netns.ts";
import { testNetworkContract } from "../support/network/netns-contract.ts";
import { type NetworkFixture, openNetwork } from "../support/network/netns-fixture.ts";
import { somePod } from "../support/network/netns-pod.ts";

describeNetworking("network: cni", ["ip", "iptables", "cni-plugins"], () => {
  testNetworkContract("cni");

  describe("with failing plugins", () => {
    let fixture: NetworkFixture;
    beforeEach(async () => {
      // Long enough for the real plugin on a busy machine.
      fixture = await openNetwork("cni", { pluginTimeoutMs: 15_000 });
    });
    afterEach(() => fixture.remove());

    /** A chain of the real bridge plugin and one of ours, whose body is a shell script. */
    async function configure(script: string, { order = ["bridge", "odd"] } = {}): Promise<void> {
      const { dataDir, cniConfDir = "" } = fixture.options;
      await mkdir(join(dataDir, "bin"), { recursive: true });
      await mkdir(cniConfDir, { recursive: true });
      const log = `read -r line; printf '%s %s\\n' "$CNI_COMMAND" "$line" >> ${dataDir}/calls;`;
      await writeFile(join(dataDir, "bin/odd"), `#!/bin/bash\n${log}\n${script}\n`);
      await chmod(join(dataDir, "bin/odd"), 0o755);
      const plugins: Record<string, object> = {
        odd: { type: "odd", capabilities: { portMappings: true, bandwidth: true } },
        bridge: {
          type: "bridge",
          bridge: fixture.bridge,
          isGateway: true,
          ipMasq: true,
          ipam: {
            type: "host-local",
            ranges: [[{ subnet: fixture.options.subnet }]],
            dataDir: join(dataDir, "network/cni/addresses"),
          },
        },
      };
      const list = { cniVersion: "1.0.0", name: fixture.bridge, plugins: order.map((type) => plugins[type]) };
      await writeFile(join(cniConfDir, "10-test.conflist"), JSON.stringify(list));
    }
    const calls = async () =>
      (await readFile(join(fixture.options.dataDir, "calls"), "utf8")).trim().split("\n");
    const removeBridge = () => run("ip", ["link", "delete", fixture.bridge]);

    test("a failed plugin is named with its message, and nothing is left", async () => {
      const error = `{"cniVersion":"1.0.0","code":11,"msg":"no luck","details":"today"}`;
      await configure(`[ "$CNI_COMMAND" = ADD ] && { echo '${error}'; exit 1; }; exit 3`);
      const pod = somePod();
      await expect(fixture.network.attach(pod)).rejects.toThrow(
        "CNI plugin odd failed to ADD: no luck; today (code 11)",
      );
      expect((await calls()).map((line) => line.split(" ")[0])).toEqual(["ADD", "DEL", "DEL"]);
      expect(await fixture.network.list()).toEqual([]);
      expect(await fixture.traces([pod.podId])).toEqual([]);
      await removeBridge();
    });

    test("a plugin that hangs is killed with its children, delays no other pod and leaves nothing behind", async () => {
      // Other tests on the machine have sleepers too.
      const nap = 5_000_000 + process.pid;
      await configure(
        `[ "$CNI_COMMAND" = DEL ] && exit 0; case "$CNI_ARGS" in *NAME=slow*) setsid sleep ${nap}.1 & sleep ${nap}.2;; esac; echo '{}'`,
      );
      const slow = somePod({ name: "slow" });
      let hangs = true;
      const failed = expect(
        fixture.network.attach(slow).finally(() => {
          hangs = false;
        }),
      ).rejects.toMatchObject({ code: "pluginTimedOut" });
      const quick = somePod();
      await fixture.network.attach(quick);
      expect(hangs).toBe(true);
      await failed;
      expect(await fixture.network.list()).toEqual([quick.podId]);
      await expect.poll(async () => (await run("ps", ["-eo", "args"])).stdout).not.toContain(`sleep ${nap}`);
      await fixture.network.detach(quick.podId);
      expect(await fixture.traces([slow.podId, quick.podId])).toEqual([]);
      await removeBridge();
    });

    test("DEL continues after a failed plugin and is retried until everything is released", async () => {
      await configure(
        `case $CNI_COMMAND in ADD) sed 's/.*"prevResult"://; s/}$//' <<< "$line";; DEL) [ -e ${fixture.options.dataDir}/repaired ];; esac`,
      );
      const pod = somePod();
      const { addresses } = await fixture.network.attach(pod);
      expect(addresses).toHaveLength(1);
      await expect(fixture.network.detach(pod.podId)).rejects.toThrow("CNI plugin odd failed to DEL");
      expect(await fixture.network.list()).toEqual([pod.podId]);
      await writeFile(join(fixture.options.dataDir, "repaired"), "");
      const next = await fixture.reopen();
      await next.detach(pod.podId);
      await next.detach(pod.podId);
      expect(await next.list()).toEqual([]);
      expect(await fixture.traces([pod.podId])).toEqual([]);
      await removeBridge();
    });

    test("plugins get the result before, their capabilities, and the pod's names; DEL the cached result", async () => {
      await configure(
        `case $CNI_COMMAND in ADD) echo "ARGS $CNI_ARGS" >> ${fixture.options.dataDir}/calls; sed 's/.*"prevResult"://; s/}$//' <<< "$line";; esac`,
      );
      const pod = somePod({
        name: "web-0",
        portMappings: [{ protocol: "UDP", containerPort: 53, hostPort: 5353, hostIp: "127.0.0.1" }],
        annotations: { "kubernetes.io/ingress-bandwidth": "10M" },
      });
      await fixture.network.attach(pod);
      await (await fixture.reopen()).detach(pod.podId);
      const [add = "", args, del = ""] = await calls();
      const [added, deleted] = [add, del].map((line) => JSON.parse(line.slice(4)));
      expect(added).toMatchObject({
        name: fixture.bridge,
        cniVersion: "1.0.0",
        prevResult: { ips: [{}] },
        runtimeConfig: {
          portMappings: [{ hostPort: 5353, containerPort: 53, protocol: "udp", hostIP: "127.0.0.1" }],
          bandwidth: { ingressRate: 10_000_000 },
        },
      });
      expect(deleted.prevResult).toEqual(added.prevResult);
      expect(args).toContain("K8S_POD_NAMESPACE=test;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=");
      await removeBridge();
    });

    test("an address is released without its record", async () => {
      await configure("exit 0", { order: ["bridge"] });
      const pod = somePod();
      await fixture.network.attach(pod);
      await writeFile(join(fixture.options.dataDir, "network/cni/pods", `${pod.podId}.json`), "");
      expect(await fixture.network.list()).toEqual([pod.podId]);
      await fixture.network.detach(pod.podId);
      expect(await fixture.traces([pod.podId])).toEqual([]);
      await removeBridge();
    });

    test("the reason that pods cannot attach is reported: a missing plugin, a version, a broken file", async () => {
      await configure('echo \'{"supportedVersions":["0.4.0"]}\'', { order: ["odd"] });
      expect(await fixture.network.problem()).toBe(
        "CNI plugin odd does not support version 1.0.0 of the specification",
      );
      await writeFile(
        join(fixture.options.cniConfDir ?? "", "00-first.conf"),
        '{"name":"x","type":"absent"}',
      );
      expect(await fixture.network.problem()).toMatch(/^CNI plugin absent is not in /);
      await writeFile(join(fixture.options.cniConfDir ?? "", "00-first.conf"), "{");
      expect(await fixture.network.problem()).toMatch(/00-first.conf is not JSON/);
    });
  });
});
