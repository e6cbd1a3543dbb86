import { defaultFeatures } from "../../api/feature-gates.ts";
import type { KubeObject } from "../../api/objects.ts";
import { findResourceOfKind } from "../../api/resources.ts";
import { sentences } from "../../api/validation/pod.fixture.ts";
import { strategyFor } from "./strategies.ts";

export const context = { features: defaultFeatures, now: Date.parse("2026-01-02T03:04:05Z") };

/** A kind's strategy, objects of the kind with their defaults, and what the strategy says of them. */
export function useStrategy(apiVersion: string, kind: string) {
  const resource = findResourceOfKind(apiVersion, kind);
  if (!resource) throw new Error(`there is no ${kind}`);
  const strategy = strategyFor(resource);

  function make(fields: object = {}): KubeObject {
    const metadata = { name: "a", namespace: "default" };
    const object = { apiVersion, kind, metadata, ...structuredClone(fields) };
    strategy.applyDefaults?.(object, context);
    return object;
  }

  return {
    strategy,
    make,
    createErrors(fields: object): string[] {
      if (!strategy.validate) throw new Error(`nobody validates a ${kind}`);
      return sentences(strategy.validate(make(fields), context));
    },
    updateErrors(before: object, after: object): string[] {
      if (!strategy.validateUpdate) throw new Error(`nobody validates a change of a ${kind}`);
      return sentences(strategy.validateUpdate(make(after), make(before), context));
    },
  };
}
