import js from "@eslint/js"
import hooks from "eslint-plugin-react-hooks"
import { defineConfig, globalIgnores } from "eslint/config"
import ts from "typescript-eslint"
import { prose } from "./eslint/prose.js"

/** Page composes, panel binds, hook fetches, chart draws: who may import whom, in all folders below. */
const layer = (folder, forbidden, why) => ({
  files: [`src/${folder}/**`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          ...(forbidden.length ? [{ group: forbidden.map((name) => `@/${name}/**`).concat(forbidden.map((name) => `@/${name}`)), message: why }] : []),
          { regex: "^\\.\\./", message: "Another folder is named from the top: @/..." },
        ],
      },
    ],
  },
})

export default defineConfig([
  globalIgnores(["src/client/schema.ts", "node_modules"]),
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...ts.configs.stylisticTypeChecked,
  { files: ["eslint.config.js", "eslint/*.js"], ...ts.configs.disableTypeChecked },
  hooks.configs.flat["recommended-latest"],
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js", "eslint/*.js"] }, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", 250],
      "max-lines-per-function": ["error", { max: 70 }],
      // An index that is known to be there says so with `!`; noUncheckedIndexedAccess makes every other access a question.
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    },
  },
  { files: ["src/**"], ignores: ["**/*.test.{ts,tsx}"], plugins: { house: { rules: { prose } } }, rules: { "house/prose": "error" } },
  layer("charts", ["client", "hooks", "panels", "pages", "components"], "A chart draws what it is given."),
  layer("lib", ["hooks", "panels", "pages", "components", "charts"], "Plain functions know nothing of React."),
  layer("hooks", ["panels", "pages", "components", "charts"], "A hook fetches, it shows nothing."),
  layer("components", ["panels", "pages"], "Panels are made of components."),
  layer("panels", ["pages"], "Pages are made of panels."),
  layer("pages", []),
  { files: ["**/*.test.{ts,tsx}"], rules: { "max-lines-per-function": "off", "@typescript-eslint/no-unsafe-assignment": "off" } },
])
