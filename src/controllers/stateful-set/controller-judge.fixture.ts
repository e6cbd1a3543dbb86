import type { Informers } from "../informers.ts";
import type { Shape } from "./controller-steps.fixture.ts";
import { byController, type SimulatedApi } from "./simulated-api.fixture.ts";
import { imageOf, isWell, setKey } from "./simulated-pod.fixture.ts";

/** Hears of every write of a controller, and notes what must never be. */
export function createJudge({ type, policy }: Shape, api: Pick<SimulatedApi, "get">) {
  const problems: string[] = [];
  /** Whom this process has deleted: it must not act as if they were still there. */
  let deleted = new Set<string>();
  /** What it sees. */
  let informers: Informers | undefined;

  function before(call: string): void {
    const [verb = "", resource = "", name = ""] = call.split(" ");
    if (verb === "delete" && resource === "persistentvolumeclaims") problems.push(`${call}: claims stay`);
    if (verb === "delete" && resource === "pods") judgeDeletion(name);
    if (verb === "create" && resource === "pods" && type === "Recreate") judgeCreation(name);
  }

  /** Who goes is who was looked at, and not one that has taken the place meanwhile. */
  function after(call: string): void {
    const [verb, resource, name = ""] = call.split(" ");
    if (verb !== "delete" || resource !== "pods") return;
    const gone = api.get("pods", name);
    const meant = informers?.of("pods").get(name)?.metadata.uid;
    if (gone?.metadata.deletionTimestamp === byController && gone.metadata.uid !== meant) {
      problems.push(`${call}: that is another pod`);
    }
  }

  /** Recreate: not while any pod of another template is seen, going or not. */
  function judgeCreation(podKey: string): void {
    const wanted = informers?.of("statefulsets").get(setKey)?.spec?.template.spec?.containers[0]?.image;
    for (const pod of informers?.of("pods").list() ?? []) {
      if (imageOf(pod) !== wanted) problems.push(`${podKey} is created beside ${imageOf(pod)}`);
    }
  }

  /** Of what the controller sees, and of what it did itself: nobody can know more. */
  function judgeDeletion(podKey: string): void {
    const set = informers?.of("statefulsets").get(setKey);
    const pod = informers?.of("pods").get(podKey);
    if (!set || !pod) return;
    deleted.add(pod.metadata.uid ?? "");
    const place = Number(pod.metadata.name?.split("-").at(-1));
    const { replicas = 0, template } = set.spec ?? {};
    const wanted = template?.spec?.containers[0]?.image;
    const scaledDown = place >= replicas;
    const ended = pod.status?.phase === "Failed";
    if (scaledDown || ended) return;
    if (imageOf(pod) === wanted) problems.push(`${podKey} is deleted though it runs ${wanted}`);
    if (type === "Recreate") return;
    // Side by side, RollingUpdate takes what is unhealthy wherever it is.
    if (policy === "Parallel" && type === "RollingUpdate" && !isWell(pod)) return;
    for (let larger = place + 1; larger < replicas; larger++) {
      const other = informers?.of("pods").get(`default/web-${larger}`);
      if (!isWell(other) || imageOf(other) !== wanted || deleted.has(other?.metadata.uid ?? "")) {
        problems.push(`${podKey} is deleted while web-${larger} is not updated and well`);
      }
    }
  }

  return {
    problems,
    before,
    after,
    /** Another process takes over. */
    restarted(views: Informers): void {
      deleted = new Set();
      informers = views;
    },
  };
}
