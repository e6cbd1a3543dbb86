// The process that volume-crash.test kills: a kubelet that does nothing but change a pod's volumes.
import { writeSync } from "node:fs";
import { createFakeApi } from "../../../src/kubelet/volumes/fake-api.fixture.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { crashPod, putVersion } from "./volume-crash-pod.ts";
import { openVolumes } from "./volumes-on-machine.ts";

const [podsDir = "", run = ""] = process.argv.slice(2);
const api = createFakeApi(systemClock);
const volumes = openVolumes(podsDir, api);
const pod = crashPod();
for (let version = 0; ; version++) {
  putVersion(api, `${run}.${version}`);
  await volumes.setUp(pod, new AbortController().signal);
  if (version === 0) writeSync(1, "ready\n");
  if (version % 10 === 9) await volumes.tearDown("u-1");
}
