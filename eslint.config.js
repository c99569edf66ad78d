import eslint from '@eslint/js'
import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', 'coverage/**', '.postrider/**', 'api/src/description.ts'] },
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/require-await': 'off',
      eqeqeq: 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['workflows/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Program > VariableDeclaration[kind="let"], Program > * > VariableDeclaration[kind="let"]',
          message: 'The modules of workflows serve all workflows at once: keep state in the workflow.',
        },
      ],
    },
  },
  {
    files: ['src/**', 'activities/**', 'client/**', 'test/**', 'bench/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.object.name="AbortSignal"][callee.property.name="any"] CallExpression[callee.property.name="timeout"]',
          message: 'The garbage collector of Node 20 takes such a timeout, and it never ends: use endingAfter.',
        },
      ],
    },
  },
  {
    // An event's way, as the README lists it, with what its files were parted into.
    files: [
      ...['src/http/ingest/plugin.ts', 'src/ingest/**', 'src/intake/intake.ts', 'src/intake/start-directly.ts'],
      ...['src/intake/group-events.ts', 'src/intake/inbox-*er.ts', 'src/composition/compose-in*.ts'],
      ...['src/temporal/start-delivery.ts', 'workflows/deliver-event.ts', 'workflows/deliver-to-destination.ts'],
      ...['workflows/destination-progress.ts', 'src/delivery/send.ts', 'src/delivery/exchange.ts'],
    ],
    rules: {
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['web/src/**'],
    extends: [reactHooks.configs.flat['recommended-latest']],
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { globals: { require: 'readonly', exports: 'writable' } },
  },
)
