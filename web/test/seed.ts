// The seed of random tests: `POLLUX_TEST_SEED=7 npm test` repeats a run. fast-check prints the seed of a test that fails.

import fc from "fast-check";

const seed = Number(process.env.POLLUX_TEST_SEED);
if (process.env.POLLUX_TEST_SEED && Number.isInteger(seed)) fc.configureGlobal({ seed });
