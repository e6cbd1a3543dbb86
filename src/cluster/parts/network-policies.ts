import { readFile } from "node:fs/promises";
import { networkPolicyUser } from "../../apiserver/request/user-info.ts";
import { createClient } from "../../client/api/create-client.ts";
import type { ProtectPod } from "../../kubelet/pods/run-pod-actions.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createPolicyTables, removePolicyTables } from "../../network-policy/nftables/policy-tables.ts";
import { createPolicyEnforcer } from "../../network-policy/policy-enforcer.ts";
import { reportUnenforced } from "../../network-policy/report-unenforced.ts";
import type { ProxyBackend } from "../../proxy/model/backend.ts";
import { policyTable } from "../host/service-rules.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface NetworkPolicies {
  /** Puts the policies of a pod in place. Undefined if policies are not enforced. */
  readonly protectPod?: ProtectPod;
  /** Sentence for the status of the node. */
  readonly description: string;
  /** Stops the enforcement. The rules stay unless they are to be removed. */
  stop(options: { readonly removeRules: boolean }): Promise<void>;
}

/**
 * Enforces network policies for the pods of a node whose services are packet rules. Elsewhere records an event for each
 * policy instead.
 */
export async function startNetworkPolicies(options: {
  readonly dataDir: string;
  readonly controlPlane: ControlPlane;
  readonly nodeName: string;
  readonly backend: ProxyBackend["name"];
  /** Interface of the pods. Undefined: not known. */
  readonly podInterface: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}): Promise<NetworkPolicies> {
  const { dataDir, nodeName, backend, podInterface, clock } = options;
  const logger = options.logger.component("network-policy");
  const client = createClient({
    transport: options.controlPlane.connect({ commonName: networkPolicyUser }),
    userAgent: "kindling-network-policy",
  });
  const stopping = new AbortController();
  const table = policyTable(dataDir);
  const stopAfter = (running: Promise<void>): NetworkPolicies["stop"] => {
    const ended = running.catch((error) =>
      logger.error("the enforcement of network policies failed", { error }),
    );
    return async ({ removeRules }) => {
      stopping.abort(new Error("the node stops"));
      await ended;
      client.close();
      if (removeRules && backend === "nftables") await removePolicyTables(table);
    };
  };
  if (backend !== "nftables" || podInterface === undefined) {
    const reason =
      backend === "nftables" ? "pods are not on the built-in bridge" : `the service proxy is ${backend}`;
    const description = `network policies are not enforced because ${reason}`;
    logger.info(description);
    const message = `The policy is stored but not enforced because ${reason}: pods accept all connections`;
    const running = reportUnenforced({ client, message, clock, logger }, stopping.signal);
    return { description, stop: stopAfter(running) };
  }
  const hardwareAddress = (await readFile(`/sys/class/net/${podInterface}/address`, "utf8")).trim();
  const tables = createPolicyTables({ table, podInterface, hardwareAddress });
  const enforcer = createPolicyEnforcer({ client, nodeName, tables, clock, logger });
  return {
    description: "network policies are enforced",
    protectPod: enforcer.protect,
    stop: stopAfter(enforcer.run(stopping.signal)),
  };
}
