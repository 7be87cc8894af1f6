//! The ids of all cases, for the macro that makes a test of each. A test holds it against the tables of
//! cases; when it fails it prints this file anew.

/// Hands the list of all cases on, with whatever comes before it.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_conformance_case {
    ($($to:tt)*) => {
        $crate::__conformance_cases! {
            $($to)*;
            session {
                core create_then_get_roundtrip,
                core initial_version_is_one_and_status_idle,
                core create_existing_id_is_already_exists,
                core create_same_op_id_is_idempotent,
                core create_carries_items_or_nothing,
                core create_claimed_is_one_write,
                core create_due_at_an_instant,
                core get_unknown_is_not_found_not_empty,
                core version_increments_by_one_per_commit,
                durable survives_reopen,
                distributed concurrent_create_one_winner,
                core cas_status_succeeds_on_expected_version,
                core cas_status_wrong_version_is_conflict_with_actual,
                core cas_failure_changes_nothing,
                core cas_carries_items_with_the_move_or_not_at_all,
                distributed concurrent_cas_one_winner_rest_conflict,
                core terminal_status_is_final,
                core repeated_creation_brings_no_claim_of_another_run,
                core create_existing_names_the_life_that_is_there,
                core a_repeat_of_the_creation_answers_the_first_version,
                core a_refused_item_is_named_by_its_place,
                core cas_sets_the_alarm_to_now_and_keeps_an_abort,
                core cas_at_another_version_is_told_the_status,
            }
            status {
                core table_of_allowed_moves_every_pair,
            }
            version {
                core only_claim_commit_and_cas_raise_it,
            }
            run {
                core start_creates_fresh_run_linked_to_session,
                core ids_are_callers_and_stored_verbatim,
                core only_one_active_run_per_session,
                core resume_is_a_new_run_with_parent_pointer,
                core finish_records_outcome_exactly_once,
                core outcome_variants_roundtrip,
                core history_lists_in_start_order,
                distributed attempts_counted_at_claim_not_at_finish,
                distributed start_twice_concurrently_one_wins,
            }
            messages {
                core append_assigns_dense_sequence,
                core batch_append_is_atomic_and_ordered,
                core append_at_another_version_is_conflict,
                core existing_rows_are_immutable,
                core read_range_inclusive,
                core read_past_end_is_empty_not_error,
                core ranges_are_read_in_the_order_asked,
                distributed read_after_write_on_peer,
                distributed concurrent_append_no_gap_no_duplicate,
                distributed reader_never_sees_partial_batch,
                core ranges_may_overlap_and_be_none,
            }
            staging {
                core result_is_invisible_until_promoted,
                core stage_is_idempotent_by_call_id,
                core restage_different_payload_is_conflict_first_wins,
                core results_may_arrive_out_of_order,
                core start_marks_last_until_the_next_state,
                durable survives_reopen,
                durable orphans_of_dead_run_are_listed_for_resume,
                core one_call_twice_with_other_bytes_is_a_conflict,
                core one_call_twice_with_the_same_bytes_is_one,
            }
            promotion {
                core state_and_results_become_visible_together,
                core order_is_the_commits_not_arrival_order,
                core unknown_staged_id_fails_whole_commit,
                core failed_cas_leaves_staged_intact,
                core promotes_each_result_once,
                core subset_keeps_remainder_staged,
                core clears_suspension_in_same_commit,
                durable lost_ack_then_retry_is_exactly_once,
                wire_faults answer_cut_then_retry_is_exactly_once,
                distributed concurrent_stage_during_promote_not_lost,
                distributed stale_lease_cannot_promote,
            }
            suspend {
                core pending_client_tool_calls_roundtrip,
                core mixed_reasons_coexist,
                core partial_step_resumes_at_same_cursor,
                core woken_only_when_last_answer_arrives,
                distributed suspend_and_release_lease_is_one_commit,
                distributed submission_between_decision_and_suspend_commit_not_lost,
                distributed suspended_session_is_not_in_ready_queue,
                distributed becomes_ready_exactly_once_when_satisfied,
                distributed deadline_expiry_makes_ready,
                core an_earlier_wake_beats_the_deadline,
            }
            pending {
                distributed answer_takes_the_slot_atomically_64_deciders,
                core answer_to_closed_call_is_not_pending,
                core several_answers_needed_m_of_n,
                core a_settling_answer_ends_the_asking,
                distributed commit_closing_an_unseen_answer_is_answer_waiting,
                core reopened_under_new_approval_id,
                core id_is_never_opened_twice,
                core unknown_close_is_refused,
                distributed answer_after_deadline_is_not_pending,
                distributed answer_before_deadline_wins_however_late_read,
                distributed of_another_incarnation_is_not_found,
                core lists_across_sessions_by_deadline,
                core takes_any_number_of_answers,
                core cursor_of_another_query_is_refused,
                core calls_of_one_deadline_are_all_listed,
                core names_the_call_that_waits,
            }
            submit {
                core accepted_while_suspended,
                core idempotent_by_key_returns_first_receipt,
                core same_key_other_payload_is_conflict,
                core unknown_call_id_is_rejected,
                core after_terminal_is_rejected_typed,
                core while_running_is_buffered,
                core drain_returns_each_once_in_order,
                core drain_is_part_of_commit,
                core consumed_one_by_one_not_as_prefix,
                core poison_payload_does_not_block_others,
                core key_is_remembered_after_consumption,
                core pages_are_bounded_and_complete,
                durable crash_after_drain_before_commit_redelivers,
                durable receipts_survive_reopen,
                distributed concurrent_same_key_one_row,
                distributed concurrent_deliveries_lose_nothing,
                distributed concurrent_drain_no_double_delivery,
                core items_are_kept_as_they_were_sent,
            }
            deliver {
                core by_status_table_every_pair,
                core wake_now_count_quiet,
            }
            interrupt {
                core by_status_table_every_pair,
                core first_soft_kept_abort_replaces,
                core everything_of_it_roundtrips,
                core on_idle_session_does_not_kill_next_run,
                distributed wakes_suspended_session,
                distributed handed_to_epoch_and_cleared_only_by_commit,
                core a_commit_that_names_another_clears_nothing,
                durable unconfirmed_is_seen_by_next_claim,
                distributed set_during_commit_is_seen_by_this_or_next_step,
                distributed exactly_one_taker,
                core an_aborted_session_has_none,
            }
            alarm {
                core turn_end_drops_waiting_soft_interrupt_never_an_abort,
                distributed interrupt_waiting_at_suspend_wakes_at_once,
                core commit_extends_lease_only_below_half,
                distributed deliver_never_moves_an_active_sessions_alarm,
                distributed urgent_item_during_a_run_wakes_at_release,
                core items_up_to_inbox_seen_wake_nobody,
                core wake_on_counts_only_unseen_items,
                core inbox_seen_never_falls,
                core inbox_seen_reaches_no_further_than_the_newest_item,
                core a_turn_end_may_name_an_alarm,
                core more_unseen_items_than_asked_wake,
                core commit_leaves_a_lease_of_exactly_half,
                core wake_on_of_any_number,
            }
            lease {
                distributed claim_is_exclusive,
                distributed epoch_strictly_increases,
                distributed token_unique_across_claims,
                distributed expires_and_is_reclaimable,
                distributed runs_for_what_was_asked_from_the_claim_on,
                distributed never_returned_already_expired,
                distributed renew_extends_from_store_now,
                distributed renew_never_shortens,
                distributed renew_by_old_epoch_fails,
                distributed renew_after_expiry_before_takeover_is_accepted,
                distributed commit_after_expiry_before_takeover_is_accepted,
                distributed release_is_immediate_and_idempotent,
                distributed release_by_stranger_fails_and_keeps_holder,
                distributed takeover_during_commit_both_orders_safe,
                distributed two_sessions_do_not_block_each_other,
                distributed stale_epoch_commit_rejected_and_no_effect,
                distributed every_mutating_op_is_fenced,
                core longer_than_24_days_is_kept,
                core longest_is_kept_and_a_longer_one_refused,
                distributed names_its_newest_holder,
                distributed commits_extend_by_what_was_renewed,
            }
            fence {
                distributed old_incarnation_is_stale_after_delete_and_recreate,
                distributed repeat_under_an_old_fence_says_what_is_known,
                durable repeat_of_commit_under_old_fence_answers_stale_yes_no_unknown,
                durable ended_by_release_except_for_the_repeat_of_that_commit,
                core ended_by_giving_a_takeover_back,
            }
            commit {
                core repeat_answers_the_first_outcome,
                core release_only_gives_the_claim_back,
                core nobody_is_released_to_active,
                distributed one_failing_neighbour_does_not_fail_others,
            }
            receipt {
                core every_fenced_write_answers_news_and_now,
            }
            claim {
                distributed brings_staged_pending_inbox_interrupt_attempts_now_atomically,
                distributed what_it_brings_is_of_one_instant,
                distributed repeat_takes_nothing_anew,
                durable repeat_with_same_operation_id_answers_the_same_claim,
                core unknown_session_is_not_found,
                core named_version_must_match,
                distributed serves_only_named_queues_and_readable_formats,
                distributed the_format_is_that_of_the_newest_state,
                distributed attempts_count_only_takeovers,
                distributed names_the_status_it_found_and_giving_back_restores_it,
                distributed giving_back_loses_no_wake_up,
                distributed carries_items_with_the_move_or_not_at_all,
                distributed interrupt_waiting_is_due_in_every_queue,
                distributed closes_the_open_run_of_a_dead_worker_as_lost,
                core format_of_any_number,
                distributed held_says_who_until_when,
                distributed repeat_names_the_status_that_it_found,
                distributed of_what_is_due_is_a_claim_like_any_other,
                distributed of_what_is_due_at_its_bounds,
                distributed attempts_are_set_back_by_commits_alone,
                distributed giving_back_keeps_what_a_session_waits_for,
            }
            ready {
                distributed due_once_however_often_woken,
                distributed none_only_when_nothing_claimable,
                due_order starvation_free_under_hot_session,
                distributed batch_claim_bounded_and_disjoint,
                distributed recovery_does_not_requeue_live_owner,
                distributed woken_during_processing_is_not_lost,
            }
            timer {
                distributed not_claimable_before_due,
                due_order claim_due_in_due_order_ties_by_id,
                distributed fires_once_across_claimers,
                distributed claimed_but_unacked_redelivers_after_lease,
                durable set_with_commit_or_not_at_all,
                core a_new_setting_replaces_the_old,
                core past_due_is_immediately_due,
                core far_future_year_9999_and_epoch_zero,
                durable survives_reopen_remaining_time_kept,
                core session_deletion_removes_timers,
            }
            events {
                core append_offsets_strictly_increase,
                core read_is_after_the_cursor,
                core resume_with_last_seen_no_gap_no_dup,
                core read_limit_and_next_cursor,
                core read_beyond_end_empty_then_live,
                durable appended_with_commit_or_not_at_all,
                distributed offset_visible_order_equals_commit_order,
                distributed concurrent_appenders_byte_exact,
                distributed reader_on_peer_sees_committed_only,
                core tail_missed_notify_still_delivers,
                change_hints tail_wakes_on_append,
            }
            deltas {
                core shown_after_the_log_in_order,
                core replaced_by_next_attempt_removed_by_commit,
                core commit_of_an_earlier_message_leaves_a_later_stream,
                distributed removed_by_release_claim_and_give_back,
                distributed takeover_never_continues_a_dead_attempts_numbers,
                distributed stale_fence_cannot_append,
                core do_not_touch_version_or_event_sequence,
                core a_gap_is_refused,
                core a_repeated_batch_appends_only_what_is_new,
                durable survive_reopen,
                core too_large_or_empty_is_refused,
                core removed_with_the_session,
                distributed late_batch_beside_the_commit_that_ends_its_stream,
                distributed cursor_joins_anywhere_without_gap_or_repeat,
                core page_limit_counts_events_and_deltas,
                distributed a_reader_in_a_dead_attempt_is_told,
                distributed events_and_deltas_are_of_one_instant,
                core stream_of_any_number,
            }
            cursor {
                core of_deleted_incarnation_is_gone,
                core of_one_list_is_refused_by_every_other,
            }
            checkpoint {
                core latest_and_by_id,
                core newest_first_by_pages_of_every_size,
                core cursor_of_another_query_is_refused,
                core without_a_state_is_refused,
                core made_with_its_commit_or_not_at_all,
                core parent_chain_is_linear_per_branch,
                distributed concurrent_writers_cannot_fork_chain,
                durable survives_reopen,
                core removed_with_its_session,
            }
            fork {
                forks copies_prefix_and_is_isolated,
                forks source_unchanged,
                forks is_at_rest_without_inbox_alarm_pending_staged,
                forks begins_as_it_is_told,
                forks of_a_fork_and_delete_the_middle,
                forks unknown_writes_nothing,
                forks refuses_what_has_no_meaning,
                forks can_be_claimed_and_go_on,
                durable survives_reopen,
                forks repeat_answers_the_same_and_changes_nothing,
                forks of_another_operation_is_already_exists,
                forks visible_only_when_whole_and_repeatable,
                forks beside_commits_of_the_source,
                forks concurrent_forks_of_one_key_one_winner,
            }
            retention {
                retention removes_the_whole_session,
                retention never_touches_what_waits_or_runs,
                retention by_status_and_tenant,
                retention counts_from_the_last_change,
                retention prune_is_resumable_and_batched,
                due_order longest_unchanged_first,
                retention a_walk_passes_what_has_nothing_to_lose_once,
                retention goes_on_where_it_was_interrupted,
                retention prune_keeps_latest_checkpoint_and_active,
                retention refuses_a_status_that_is_no_rest,
                retention beside_a_claim_never_half_a_session,
            }
            capability {
                core undeclared_answers_unsupported,
            }
            list {
                core shows_each_session_as_it_stands,
                core order_is_total_and_stable,
                core cursor_walk_equals_full_set,
                core cursor_stable_under_inserts_and_deletes,
                core filters_compose,
                core created_range_is_half_open,
                core changed_range_follows_the_last_change,
                core limit_over_max_is_bounded,
                core cursor_of_other_filter_or_tenant_rejected,
                core labels_match_whole,
            }
            page {
                core may_be_short_with_a_cursor_walk_is_complete,
                core messages_end_at_their_bytes,
                core a_row_of_its_own_size_is_a_page,
                core inbox_ends_at_its_bytes,
                core events_and_deltas_end_at_their_bytes,
                core lists_end_at_their_bytes,
                core no_message_is_passed_at_its_bound,
                core no_item_is_passed_at_its_bound,
                core no_event_is_passed_at_its_bound,
                core no_delta_is_passed_at_its_bound,
                core no_run_is_passed_at_its_bound,
                core no_pending_call_is_passed_at_its_bound,
                core no_checkpoint_is_passed_at_its_bound,
                core no_session_is_passed_for_its_labels,
            }
            tenant {
                core same_ids_do_not_collide,
                core every_read_is_scoped,
                core every_write_is_scoped,
                core claim_due_does_not_cross,
                core prefix_tricks,
                core deleting_leaves_others_bit_identical,
            }
            delete {
                core removes_every_row_of_session,
                core running_session_rejected_unless_forced,
                core unknown_is_not_found,
                distributed forced_then_late_commit_cannot_resurrect,
                distributed recreate_same_id_ignores_stale_lease_and_submissions,
                distributed a_late_duplicate_of_the_creation_brings_nothing_back,
                retention a_purged_session_is_not_brought_back,
                distributed a_tombstone_stands_for_a_day,
                durable survives_reopen,
                distributed beside_a_repeat_of_the_creation,
                distributed names_the_life_that_is_meant,
                core of_a_dead_run_needs_force,
            }
            data {
                core large_payload_1mib_and_16mib_or_typed_too_large,
                core limit_boundary_exact,
                core many_small_10k_messages,
                core unicode_nfc_nfd_emoji_rtl_zero_width,
                core nul_byte_in_string,
                core lone_surrogate_escape,
                core json_numbers_u64_max_i64_min_1e400_neg_zero_0_1,
                core json_key_order_and_duplicate_keys,
                core empty_and_null_are_different,
                core deeply_nested_json_128,
                core binary_blob_all_256_bytes,
                core ids_case_sensitive_and_trailing_space,
                core timestamps_keep_declared_resolution,
                core labels_over_the_bounds_are_refused,
                core errors_change_nothing,
                core session_ids_are_no_patterns,
            }
            limit {
                core of_a_creation,
                forks of_a_fork,
                core of_a_claim,
                core of_a_compare_and_set,
                core of_a_staging,
                core of_a_commit,
                core of_the_reason_of_an_interrupt,
            }
            error {
                core names_the_operation_the_session_and_the_field,
            }
            race {
                distributed op_pair_matrix,
                distributed linearizable_histories,
                distributed no_deadlock_lock_order_probe,
                distributed pool_exhaustion_is_unavailable_not_hang,
                distributed reads_beside_a_write_hold_what_was_acknowledged,
                distributed submit_vs_suspend,
                distributed finish_vs_interrupt,
                distributed suspend_vs_interrupt,
                distributed commit_vs_delete,
                distributed renew_vs_claim,
                distributed answer_vs_close,
            }
            crash {
                core cancel_sweep_every_mutating_op,
                child_process sigkill_acked_is_durable,
                child_process sigkill_never_partial_commit,
                wire_faults cut_request_sweep,
                wire_faults lost_ack_sweep_exactly_once,
                wire_faults killed_connection_surfaces_unavailable_or_retries,
                wire_faults ambiguous_commit_reported_as_ambiguous,
            }
            schema {
                raw_data init_twice_is_idempotent,
                raw_data concurrent_init_16_peers,
                raw_data newer_than_binary_fails_closed,
                raw_data interrupted_migration_is_resumable_or_rolled_back,
                raw_data unknown_enum_value_is_typed_not_panic,
                raw_data verify_only_mode_runs_no_ddl,
                raw_data corrupt_row_is_corrupt_error_and_isolated,
            }
            instant {
                core every_row_has_that_of_its_write,
                core updated_at_follows_every_change,
                core what_changes_nothing_leaves_updated_at,
                forks a_fork_keeps_those_of_its_prefix,
                retention pruning_is_no_change,
            }
            hint {
                change_hints whoever_watches_a_session_is_told_of_every_change,
                change_hints whoever_waits_for_work_is_told_of_it,
            }
            scope {
                core creations_runs_and_commits_are_known_in_one_session,
                core a_commit_is_a_repeat_under_its_own_fence_alone,
                core answers_go_to_the_session_that_is_named,
                core tombstones_are_of_one_session_of_one_tenant,
                forks tombstones_of_forks_are_of_one_tenant,
                core removal_forgets_nothing_of_another_tenant,
                retention retention_forgets_nothing_of_another_tenant,
                core nothing_of_a_life_returns_in_the_next,
                forks a_fork_knows_no_pending_id_of_its_source,
                retention pruning_forgets_no_name,
                distributed a_tombstone_stands_from_the_deletion_on,
                retention a_tombstone_of_retention_stands_from_the_removal_on,
            }
            prop {
                core sequential_model_equivalence,
                durable reopen_at_any_point_equivalence,
                core op_outcome_coverage_gate,
                core regression_scripts,
            }
        }
    };
}
