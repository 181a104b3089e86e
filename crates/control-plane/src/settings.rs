//! What a control plane is started with.

use std::time::Duration;

use crate::user::User;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) users: Vec<User>,
    pub(crate) controller_manager: bool,
    pub(crate) port: u16,
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) ready_within: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            controller_manager: false,
            port: 0,
            api_server_flags: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}
