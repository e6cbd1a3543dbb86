import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { dnsSubdomainProblems } from "../../api/meta/names.ts";
import { issueClientCertificate, loadOrCreatePki } from "../../apiserver/auth/pki/pki.ts";
import { writeKubeconfig } from "../../apiserver/auth/pki/write-kubeconfig.ts";
import { dataDirPaths } from "../../cluster/data-dir/data-dir-files.ts";
import { startControlPlane } from "../../cluster/parts/control-plane.ts";
import { UsageError } from "../options/command-errors.ts";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../run/run-control-plane.ts";
import { loadGivenAccess } from "../run/user-access.ts";

const examples = `
Examples:
  kindling apiserver
  kindling apiserver --data-dir /var/lib/kindling --listen 0.0.0.0:6443
  kindling apiserver --store etcd --etcd-endpoints http://127.0.0.1:2379 --listen 127.0.0.1:0
  kindling apiserver --data-dir /var/lib/kindling kubeconfig worker-1.kubeconfig --node worker-1`;

const kubeconfigExamples = `
Examples:
  kindling apiserver kubeconfig worker-1.kubeconfig --node worker-1
  kindling apiserver kubeconfig scheduler.kubeconfig --component scheduler
  kindling apiserver --data-dir DIR kubeconfig worker-1.kubeconfig --node worker-1 --server https://10.0.0.1:6443`;

interface KubeconfigFlags {
  readonly node?: string;
  readonly component?: "scheduler" | "controller-manager";
  readonly server?: string;
}

export function configure(command: Command): void {
  addControlPlaneOptions(command)
    .addHelpText("after", examples)
    .action((flags: ControlPlaneFlags) =>
      runControlPlane(
        flags,
        startControlPlane,
        ({ url, kubeconfig }) => `API server: ${url}\nkubeconfig: ${kubeconfig}\n`,
      ),
    );

  command
    .command("kubeconfig <file>")
    .description("write the kubeconfig of a node or a component, with a certificate of the cluster's CA")
    .option("--node <name>", "name of the node whose kubelet uses it", parseNodeName)
    .addOption(
      new Option("--component <name>", "component that uses it")
        .choices(["scheduler", "controller-manager"])
        .conflicts("node"),
    )
    .option(
      "--server <url>",
      "address of the API server (default: the one in the administrator's kubeconfig)",
    )
    .addHelpText("after", kubeconfigExamples)
    .action((file: string, flags: KubeconfigFlags) =>
      writeComponentKubeconfig(resolve(file), resolve(command.opts().dataDir), flags),
    );
}

/** Issues a client certificate with the CA in the data directory. The API server may be running or not. */
async function writeComponentKubeconfig(
  file: string,
  dataDir: string,
  { node, component, server }: KubeconfigFlags,
): Promise<void> {
  if (!node && !component) throw new UsageError("name the user of the kubeconfig with --node or --component");
  const paths = dataDirPaths(dataDir);
  const { server: url } = await loadGivenAccess(paths.kubeconfig, { namedBy: "--data-dir" });
  const now = Date.now();
  const pki = await loadOrCreatePki({ directory: paths.pki, hosts: [url.hostname], now });
  const subject = node
    ? { commonName: `system:node:${node}`, organizations: ["system:nodes"] }
    : { commonName: `system:kube-${component}` };
  await writeKubeconfig(file, {
    server: server ?? url.origin,
    ca: pki.authority.cert,
    ...issueClientCertificate(pki, { ...subject, now }),
    name: subject.commonName,
  });
  process.stdout.write(`kubeconfig of ${subject.commonName}: ${file}\n`);
}

function parseNodeName(name: string): string {
  const [problem] = dnsSubdomainProblems(name);
  if (problem) throw new InvalidArgumentError(problem);
  return name;
}
