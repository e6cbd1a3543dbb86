import type { Pod } from "../../api/meta/objects.ts";
import type { Informers } from "../shared/informers.ts";
import { byController, type SimulatedApi } from "../shared/simulated-api.fixture.ts";
import type { Shape } from "./controller-steps.fixture.ts";
import { ordinalOf } from "./pod-identity.ts";
import { imageOf, isWell, setKey } from "./simulated-pod.fixture.ts";

/** Observes every write of a controller and records violations of its invariants. */
export function createInvariantChecker({ type, policy }: Shape, api: Pick<SimulatedApi, "get">) {
  const problems: string[] = [];
  /** Uids of pods that this process has deleted: it must not treat them as existing. */
  let deleted = new Set<string>();
  /** Informers of the process. */
  let informers: Informers | undefined;

  function before(call: string): void {
    const [verb = "", resource = "", name = ""] = call.split(" ");
    if (verb === "delete" && resource === "persistentvolumeclaims")
      problems.push(`${call}: claims must not be deleted`);
    if (verb === "delete" && resource === "pods") checkDeletion(name);
    if (verb === "create" && resource === "pods" && type === "Recreate") checkCreation(name);
  }

  /** The deleted pod must be the one that the decision was based on, not a successor of the same name. */
  function after(call: string): void {
    const [verb, resource, name = ""] = call.split(" ");
    if (verb !== "delete" || resource !== "pods") return;
    const gone = api.get("pods", name);
    const meant = informers?.of("pods").get(name)?.metadata.uid;
    if (gone?.metadata.deletionTimestamp === byController && gone.metadata.uid !== meant) {
      problems.push(`${call}: deletes another pod of that name`);
    }
  }

  /** Recreate: no creation while any pod of another template is observed, terminating or not. */
  function checkCreation(podKey: string): void {
    const wanted = informers?.of("statefulsets").get(setKey)?.spec?.template.spec?.containers[0]?.image;
    for (const pod of informers?.of("pods").list() ?? []) {
      if (imageOf(pod) !== wanted) problems.push(`${podKey} is created beside ${imageOf(pod)}`);
    }
  }

  /** Based on what the controller observes and on its own writes, because it cannot know more. */
  function checkDeletion(podKey: string): void {
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
    if (type === "EnforcedRollingUpdate" && isWell(pod)) checkDisruption(podKey, replicas);
    // With Parallel, RollingUpdate replaces unhealthy pods of any ordinal.
    if (policy === "Parallel" && type === "RollingUpdate" && !isWell(pod)) return;
    for (let larger = place + 1; larger < replicas; larger++) {
      const other = informers?.of("pods").get(`default/web-${larger}`);
      if (!isWell(other) || imageOf(other) !== wanted || deleted.has(other?.metadata.uid ?? "")) {
        problems.push(`${podKey} is deleted while web-${larger} is not updated and ready`);
      }
    }
  }

  /** 3541-11: a Ready pod stays while another one is starting, terminating or missing. */
  function checkDisruption(podKey: string, replicas: number): void {
    const seen = [...(informers?.of("pods").list() ?? [])];
    const ordinals = new Set(seen.map(ordinalOf));
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      if (!ordinals.has(ordinal)) problems.push(`${podKey} is deleted while web-${ordinal} is missing`);
    }
    for (const other of seen) {
      if (`default/${other.metadata.name}` === podKey || !isDisrupted(other)) continue;
      problems.push(`${podKey} is deleted while ${other.metadata.name} is starting or terminating`);
    }
  }

  function isDisrupted({ metadata, status }: Pod): boolean {
    if (metadata.deletionTimestamp) return true;
    if (status?.phase === "Failed") return false;
    return deleted.has(metadata.uid ?? "") || status?.containerStatuses === undefined;
  }

  return {
    problems,
    before,
    after,
    /** Called when a new controller process takes over. */
    restarted(views: Informers): void {
      deleted = new Set();
      informers = views;
    },
  };
}
