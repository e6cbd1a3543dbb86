import type { Logger } from "../../../src/lib/logger.ts";
import { chooseNetwork, type NetworkOptions } from "../../../src/runtime/networks/choose-network.ts";
import { somePodNamed } from "./netns-pod.ts";

// A daemon to be killed: attaches and detaches pods until then. Options as JSON in the first argument.

const logger: Logger = {
  debugging: false,
  debug() {},
  info() {},
  warn() {},
  error() {},
  component: () => logger,
};

function parseOptions(text: string | undefined): NetworkOptions & { firstPort: number } {
  return { ...JSON.parse(text ?? "{}"), logger };
}

const { firstPort, ...options } = parseOptions(process.argv[2]);
const { network } = await chooseNetwork(options);
await network.problem();
console.log("ready");
for (let i = 0; ; i++) {
  const pods = [0, 1, 2].map((j) => {
    const hostPort = firstPort + (i % 50) * 3 + j;
    const portMappings =
      j === 0 ? [{ protocol: "TCP" as const, containerPort: 80, hostPort, hostIp: "" }] : [];
    return somePodNamed(`killed-${process.pid}-${i}-${j}`, { portMappings });
  });
  await Promise.all(pods.map((pod) => network.attach(pod)));
  await Promise.all(pods.slice(1).map(({ podId }) => network.detach(podId)));
}
