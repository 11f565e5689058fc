import js from '@eslint/js';
import globals from 'globals';
import svelte from 'eslint-plugin-svelte';
import ts from 'typescript-eslint';

// Svelte only, markup and all: everything else is checked by oxlint (.oxlintrc.json), which is a hundred times faster.
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
      // Props are one declaration, of which some are assigned to.
      'prefer-const': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
);
