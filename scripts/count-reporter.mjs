// Closes a CI run with one line that says how many tests passed, failed and were skipped. Above it stand the
// names of the skipped and then each failure with its reason: the end of a log is the part that everybody sees.
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const skipped = [];
    const failures = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        counts[state] = (counts[state] ?? 0) + 1;
        if (state === "skipped") skipped.push(test.fullName);
        if (state === "failed")
          failures.push(failure(`${module.relativeModuleId} > ${test.fullName}`, errors));
      }
      // A file that fails to load, or a hook that fails, has no test to fail; count the file itself.
      if (module.state() === "failed" && [...module.children.allTests("failed")].length === 0) {
        counts.failed++;
        failures.push(failure(module.relativeModuleId, moduleErrors(module)));
      }
    }
    counts.failed += unhandledErrors.length;
    for (const error of unhandledErrors) failures.push(failure("outside of every test", [error]));
    for (const name of skipped) console.log(`skipped: ${name}`);
    for (const text of failures) console.log(text);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}

function moduleErrors(module) {
  const suites = [...module.children.allSuites("failed")];
  return [...module.errors(), ...suites.flatMap((suite) => suite.errors())];
}

function failure(name, errors = []) {
  const reasons = errors.map(
    (error) => `  ${(error.stack ?? error.message).split("\n").slice(0, 8).join("\n  ")}`,
  );
  return [`failed: ${name}`, ...reasons].join("\n");
}
