//! Which times are found?
