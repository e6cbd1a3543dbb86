import { describe, expect, test } from "vitest";
import { defaultFeatures, FeatureGateError, parseFeatureGates } from "./feature-gates.ts";

describe("parseFeatureGates", () => {
  test.each(["", " ", ","])("%j leaves the defaults, on but for what upstream has off", (text) => {
    expect(parseFeatureGates(text)).toEqual(defaultFeatures);
    const off = Object.entries(defaultFeatures).filter(([, on]) => !on);
    expect(off).toEqual([["StatefulSetRecreateStrategy", false]]);
  });

  test("settings change the gates they name and no others", () => {
    expect(parseFeatureGates("ImagePullProgress=false, PodFailingToStartCondition=true")).toEqual({
      ...defaultFeatures,
      ImagePullProgress: false,
    });
  });

  test("an alias names its gate", () => {
    expect(parseFeatureGates("StartupProbe=false").StartupProbeEnabled).toBe(false);
  });

  test("the last setting of a gate counts", () => {
    expect(parseFeatureGates("ImagePullProgress=false,ImagePullProgress=true").ImagePullProgress).toBe(true);
  });

  test("an unknown name is refused with the list of known ones", () => {
    expect(() => parseFeatureGates("Nope=true")).toThrow(FeatureGateError);
    expect(() => parseFeatureGates("Nope=true")).toThrow(
      /unknown feature gate "Nope"; known are .*ImagePullProgress/,
    );
  });

  test.each(["ImagePullProgress", "ImagePullProgress=yes", "ImagePullProgress=true=false", "=true"])(
    "%j is refused",
    (text) => {
      expect(() => parseFeatureGates(text)).toThrow(FeatureGateError);
    },
  );

  test("names that every object has are still unknown", () => {
    expect(() => parseFeatureGates("constructor=true")).toThrow(/unknown feature gate/);
  });
});
