import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import {
  type ClusterAccess,
  loadInClusterAccess,
  loadKubeconfig,
} from "../../client/kubeconfig/cluster-access.ts";
import { impersonationProblem } from "../../client/kubeconfig/impersonation.ts";
import { KubeconfigError } from "../../client/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../client/transport/http-transport.ts";
import type { CommandContext } from "../options/command-context.ts";
import { UsageError } from "../options/command-errors.ts";

interface AccessFlags {
  readonly namespace?: string;
  readonly kubeconfig: string;
  readonly context?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly asUid?: string;
}

/** Adds the options of commands that a user runs on a cluster: `--namespace`, and those of `addClusterOptions`. */
export function addAccessOptions(command: Command, context: CommandContext): Command {
  return addClusterOptions(
    command.option(
      "-n, --namespace <namespace>",
      "namespace (default: the namespace of the kubeconfig context)",
    ),
    context,
  );
}

/** Adds the options that select a cluster and its user, with the names and defaults of kubectl. */
export function addClusterOptions(
  command: Command,
  { programName }: Pick<CommandContext, "programName">,
): Command {
  const isPlugin = programName !== "kindling";
  return command
    .addOption(
      new Option("--kubeconfig <file>", "kubeconfig of the cluster, which need not run Kindling")
        .env("KUBECONFIG")
        .default(
          isPlugin ? kubectlKubeconfig() : defaultKubeconfig(),
          isPlugin ? "~/.kube/config" : "~/.kindling/kubeconfig if it exists, otherwise ~/.kube/config",
        ),
    )
    .option("--context <context>", "kubeconfig context (default: the current context)")
    .option("--as <user>", "user to impersonate; system:serviceaccount:NAMESPACE:NAME for a service account")
    .option(
      "--as-group <group>",
      "group to impersonate, can be repeated",
      (group: string, others: readonly string[] = []) => [...others, group],
    )
    .option("--as-uid <uid>", "UID to impersonate");
}

/** Opens a client for the cluster and namespace of a command with `addAccessOptions`. The caller closes it. */
export async function openUserClient(
  command: Command,
  userAgent: string,
): Promise<{ readonly client: Client; readonly namespace: string }> {
  return openAccess(await loadUserAccess(command), command.opts<AccessFlags>(), userAgent);
}

/** Opens a client like `openUserClient`, for flags that were read from an incomplete command line. */
export async function openFlagClient(
  flags: AccessFlags,
  userAgent: string,
): Promise<{ readonly client: Client; readonly namespace: string }> {
  const { kubeconfig, context } = flags;
  return openAccess(impersonate(await loadKubeconfig(kubeconfig, { context }), flags), flags, userAgent);
}

function openAccess(
  access: ClusterAccess,
  { namespace }: Pick<AccessFlags, "namespace">,
  userAgent: string,
): { readonly client: Client; readonly namespace: string } {
  const client = createClient({ transport: createHttpTransport({ access }), userAgent });
  return { client, namespace: namespace ?? access.namespace ?? "default" };
}

/** Loads access for a controller with `addClusterOptions`. Without a kubeconfig, a pod uses the cluster that it runs in. */
export async function loadControllerAccess(command: Command): Promise<ClusterAccess> {
  const isInPod =
    process.env.KUBERNETES_SERVICE_HOST && command.getOptionValueSource("kubeconfig") === "default";
  return isInPod
    ? impersonate(await loadInClusterAccess(), command.opts<AccessFlags>())
    : loadUserAccess(command);
}

async function loadUserAccess(command: Command): Promise<ClusterAccess> {
  const flags = command.opts<AccessFlags>();
  const source = command.getOptionValueSource("kubeconfig");
  const namedBy = source === "env" ? "KUBECONFIG" : "--kubeconfig";
  const access = await (source === "default"
    ? loadDefaultAccess(flags)
    : loadGivenAccess(flags.kubeconfig, { context: flags.context, namedBy }));
  return impersonate(access, flags);
}

/** Adds the user of the flags. A flag replaces that field of the kubeconfig, as in kubectl. */
function impersonate(
  access: ClusterAccess,
  { as: user, asGroup: groups, asUid: uid }: Pick<AccessFlags, "as" | "asGroup" | "asUid">,
): ClusterAccess {
  const impersonation = {
    ...access.impersonation,
    ...(user && { user }),
    ...(groups && { groups }),
    ...(uid && { uid }),
  };
  const problem = impersonationProblem(impersonation);
  if (problem) throw new UsageError(`${problem}: add --as`);
  return { ...access, impersonation };
}

/** Default kubeconfig of kubectl. */
export function kubectlKubeconfig(): string {
  return join(homedir(), ".kube", "config");
}

/** Returns Kindling's kubeconfig if it exists, otherwise kubectl's. */
function defaultKubeconfig(): string {
  const own = join(homedir(), ".kindling", "kubeconfig");
  const kubectls = kubectlKubeconfig();
  return !existsSync(own) && existsSync(kubectls) ? kubectls : own;
}

/** The default file may be missing if there is no cluster yet. */
async function loadDefaultAccess({ kubeconfig, context }: AccessFlags): Promise<ClusterAccess> {
  return loadKubeconfig(kubeconfig, { context }).catch((error: unknown) => {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new Error(`${error.message}; start a cluster with kindling up, or set --kubeconfig`, {
      cause: error,
    });
  });
}

/** Loads access to the cluster of `--kubeconfig`, or without it to the cluster that this pod runs in. */
export async function loadAccess(kubeconfig: string | undefined): Promise<ClusterAccess> {
  if (kubeconfig !== undefined) return loadGivenAccess(kubeconfig);
  if (!process.env.KUBERNETES_SERVICE_HOST) throw new UsageError("--kubeconfig is required outside of a pod");
  return loadInClusterAccess();
}

/** Loads the cluster of a given kubeconfig. An invalid file is a usage error. */
export async function loadGivenAccess(
  kubeconfig: string,
  { context, namedBy = "--kubeconfig" }: { readonly context?: string; readonly namedBy?: string } = {},
): Promise<ClusterAccess> {
  return loadKubeconfig(kubeconfig, { context }).catch((error: unknown) => {
    throw error instanceof KubeconfigError ? new UsageError(`${namedBy}: ${error.message}`) : error;
  });
}
