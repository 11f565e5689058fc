import js from '@eslint/js';
import globals from 'globals';
import svelte from 'eslint-plugin-svelte';
import ts from 'typescript-eslint';

// ESLint checks only Svelte files, including their markup. All other files are checked by oxlint (.oxlintrc.json),
// which is a hundred times faster.
const files = ['**/*.svelte', '**/*.svelte.ts'];
export default ts.config(
  { ignores: ['.svelte-check/'] },
  {
    files,
    extends: [js.configs.recommended, ...ts.configs.recommended, ...svelte.configs.recommended],
    languageOptions: {
      parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'] },
      globals: globals.browser,
    },
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports' }],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Randomness is an argument.' },
      ],
      // One declaration holds all props of a component, and only some of them are reassigned.
      'prefer-const': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
);
