#!/usr/bin/env bash
# failures.sh FOLDER STEP...: prints the closing lines of a run with failures. From FOLDER/STEP.txt it repeats the output of
# gotestsum and pytest for each failed test, at most 40 lines each, and the end of any other step. The names come last, for
# readers who see only the end of a log.
set -u
folder=$1
shift
for step in "$@"; do
  printf '\n== failed: %s\n' "$step"
  file=$folder/$step.txt
  if grep -qE '^=== Failed$|^=+ (FAILURES|ERRORS) =+$' "$file"; then
    awk '/^=== (Failed|Errors)$|^=+ (FAILURES|ERRORS) =+$/ { on = 1 }
      /^=== (Skipped)$|^=+ (slowest|short test summary)|^DONE |^slowest:/ { on = 0 }
      /^=== |^_+ .* _+$/ { n = 0 }
      on && n++ < 40' "$file"
  else
    tail -n 30 "$file"
  fi
done
echo
for step in "$@"; do
  names=$(sed -nE 's/^=== FAIL: (.*[^ ]) +\(.*\)$/\1/p; s/^(FAILED|ERROR) ([^ ]+).*/\2/p' "$folder/$step.txt" | sort -u)
  printf "FAILED $step: %s\n" "${names:-the step itself}" | sed "2,\$s|^|FAILED $step: |"
done
